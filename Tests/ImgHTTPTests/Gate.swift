import TestHTTP

@testable import ImgHTTP

/// Lets tasks of a test wait for each other.
final class Gate: Sendable {
  private let latch = Latch()

  func open() {
    latch.open()
  }

  /// Returns after ``open()``.
  func wait() async {
    await latch.wait()
  }

  /// Returns after ``open()``, or when the task is cancelled, which opens both gates.
  func wait(orCancelled cancelled: Gate) async {
    await withTaskCancellationHandler {
      await wait()
    } onCancel: {
      cancelled.open()
      open()
    }
  }
}

/// Waits until a condition holds that other threads change.
func until(_ condition: () -> Bool) async throws {
  let deadline = ContinuousClock.now + RawClient.patience
  while !condition() {
    guard ContinuousClock.now < deadline else { throw RawClient.Failure.deadline }
    await Task.yield()
  }
}
