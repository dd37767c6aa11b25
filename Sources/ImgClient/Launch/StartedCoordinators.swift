import ImgSystem
import Synchronization

/// The coordinators that this process has started and that have not ended. One that leaves because it is idle
/// stays a zombie until its parent reaps it, so the next start of one reaps the one before.
enum StartedCoordinators {
  private final class Child: Sendable {
    let process: ChildProcess

    init(_ process: consuming ChildProcess) {
      self.process = process
    }
  }

  private static let children = Mutex<[Child]>([])

  /// A coordinator was started.
  static func keep(_ process: consuming ChildProcess) {
    let child = Child(process)
    children.withLock { $0.append(child) }
  }

  /// Reaps those that have ended.
  static func reap() {
    children.withLock { $0.removeAll { $0.process.reap() != nil } }
  }
}
