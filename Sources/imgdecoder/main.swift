import CAllocation
import Glibc
import ImgDecode

// Without the clean-up of exit(3), which would pull libraries from under a thread that still runs.
_exit(DecoderMain.run(recordingRefusedAllocationsBy: img_record_refused_allocations))
