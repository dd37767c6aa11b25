import Glibc
import ImgScheduler
import ImgSystem

/// What the heartbeat page of a worker process shows when the process has ended.
struct LastHeartbeat {
  /// Whether a picture was being decoded.
  var isDecoding = false
  /// Whether the thread that crashed was in a call of the store.
  var hasCrashedInStore = false
  /// Whether an allocation was refused since the last decode began.
  var hasRefusedAllocation = false
}

extension WorkerEnd {
  /// Attributes the end of a process to a person, the store, memory or the worker itself.
  ///
  /// - Parameter isDraining: whether the worker was told to leave.
  init(_ status: ExitStatus, isDraining: Bool, _ heartbeat: LastHeartbeat) {
    self =
      switch status {
      case .exited(0) where isDraining: .left
      case .signalled(SIGKILL), .signalled(SIGTERM): .killed(status.description)
      case .signalled where heartbeat.hasCrashedInStore: .crashedInStore(status.description)
      case _ where heartbeat.isDecoding && heartbeat.hasRefusedAllocation:
        .ranOutOfMemory(status.description)
      case .exited, .signalled: .crashed(status.description)
      }
  }
}
