import ImgSystem

/// The coordinators that this process has started. One that leaves because it is idle would stay a zombie as
/// long as this process runs, so a thread waits for the end of each, and reaps it.
enum StartedCoordinators {
  private final class Child: Sendable {
    let process: ChildProcess

    init(_ process: consuming ChildProcess) {
      self.process = process
    }
  }

  /// The thread only waits.
  private static let stackByteCount = 256 << 10

  /// A coordinator was started, whether or not it can begin.
  static func keep(_ process: consuming ChildProcess) {
    let child = Child(process)
    // Without a thread, init reaps the coordinator after this process.
    _ = try? ServiceThread<Never>(
      name: "imgreaper", capacity: 1, stackByteCount: stackByteCount
    ) { _ in
      _ = child.process.waitForExit(until: nil)
    }
  }
}
