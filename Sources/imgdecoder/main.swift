import Glibc
import ImgDecoder

// Without the clean-up of exit(3), which would pull libraries from under a thread that still runs.
_exit(DecoderMain.run())
