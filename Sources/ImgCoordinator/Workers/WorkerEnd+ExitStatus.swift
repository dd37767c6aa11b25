import Glibc
import ImgScheduler
import ImgSystem

extension WorkerEnd {
  /// Attributes the end of a process to a person, the store or the worker itself.
  ///
  /// - Parameters:
  ///   - isDraining: whether the worker was told to leave.
  ///   - hasCrashedInStore: whether the thread that crashed was in a call of the store.
  init(_ status: ExitStatus, isDraining: Bool, hasCrashedInStore: Bool) {
    self =
      switch status {
      case .exited(0) where isDraining: .left
      case .signalled(SIGKILL), .signalled(SIGTERM): .killed(status.description)
      case .signalled where hasCrashedInStore: .crashedInStore(status.description)
      case .exited, .signalled: .crashed(status.description)
      }
  }

  /// The predicate of a sentence whose subject is the worker; `nil` for a worker that left when told
  /// to.
  var sentence: String? {
    switch self {
    case .left: nil
    case .crashed(let how), .killed(let how): how
    case .crashedInStore(let how): "\(how) in the store"
    }
  }
}
