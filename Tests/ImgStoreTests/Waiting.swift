import Dispatch
import ImgSystem

/// Looks again and again, for what another process or thread brings about.
///
/// - Returns: whether it became true before the timeout.
func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = ContinuousClock.now + .seconds(540)
  while ContinuousClock.now < deadline {
    if try condition() { return true }
    ThisProcess.pause(for: .milliseconds(1))
  }
  return false
}

/// Runs what blocks on a thread of its own, not on one of those that all tests share.
func onThread<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue(label: "test").async {
      continuation.resume(with: Swift.Result { try body() })
    }
  }
}
