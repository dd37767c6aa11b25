import Glibc
import ImgCore
import ImgSystem

/// What is known of a worker process when it has ended, beside its exit status.
struct ExitEvidence {
  /// Whether the worker was told to leave.
  var isDraining = false
  /// Whether its heartbeat page still shows a picture that is being decoded.
  var isDecoding = false
  /// Whether the thread that crashed was in a call of the store.
  var hasCrashedInStore = false
  /// Whether an allocation was refused since the decode began.
  var hasRefusedAllocation = false
}

extension WorkerEnd {
  /// Attributes the end of a process to a person, the store, memory or the worker itself.
  init(_ status: ExitStatus, _ evidence: ExitEvidence) {
    self =
      switch status {
      case .exited(0) where evidence.isDraining: .left
      case .signalled(SIGKILL), .signalled(SIGTERM): .killed(status.description)
      case .signalled where evidence.hasCrashedInStore: .crashedInStore(status.description)
      case _ where evidence.isDecoding && evidence.hasRefusedAllocation:
        .ranOutOfMemory(status.description)
      case .exited, .signalled: .crashed(status.description)
      }
  }
}
