import Dispatch
import Testing

/// Runs a test on a thread of its own.
///
/// For a test that waits for real time to pass: it would hold one of the few threads that all tests
/// share.
struct OwnThread: TestTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(ThreadExecutor()) { try await function() }
  }
}

extension Trait where Self == OwnThread {
  static var ownThread: OwnThread { OwnThread() }
}

/// Runs the parts of one task, one after the other, on a serial queue, which takes a further thread
/// where all others are busy.
private final class ThreadExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "test")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = unsafe asUnownedTaskExecutor()
    queue.async { unsafe job.runSynchronously(on: executor) }
  }
}
