import Glibc
import Synchronization

/// A thread with a queue of jobs, for calls that block or compute for long, away from the polling
/// thread.
///
/// It blocks all signals, so that they reach the ``SignalSource`` of the main thread, except those
/// of its own faults, see ``CrashRegion``.
package final class ServiceThread<Job: Sendable>: Sendable {
  /// The queue of jobs for the thread.
  package let queue: BlockingQueue<Job>
  /// `nil` once joined.
  private let thread: Mutex<pthread_t?>

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - name: the name in ps and debuggers. The kernel keeps 15 bytes.
  ///   - capacity: the capacity of the queue.
  ///   - body: takes jobs from the queue until it returns `nil`, then returns.
  package init(
    name: String, capacity: Int, stackByteCount: Int = 8 << 20,
    body: @escaping @Sendable (BlockingQueue<Job>) -> Void
  ) throws(SystemError) {
    let queue = try BlockingQueue<Job>(capacity: capacity)
    self.queue = queue
    thread = Mutex(
      try startThread(name: name, stackByteCount: stackByteCount) { body(queue) })
  }

  deinit {
    queue.close()
    if let thread = thread.withLock({ $0.take() }) { pthread_detach(thread) }
  }

  /// Closes the queue and waits until the thread has finished its jobs. A second call does nothing.
  package func join() {
    queue.close()
    guard let thread = thread.withLock({ $0.take() }) else { return }
    let code = pthread_join(thread, nil)
    precondition(code == 0, "a service thread cannot join itself")
  }
}
