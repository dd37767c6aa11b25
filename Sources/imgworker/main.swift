import Glibc
import ImgWorker

// Without the clean-up of exit(3), which would pull libraries from under a decoder that still runs.
_exit(WorkerMain.run())
