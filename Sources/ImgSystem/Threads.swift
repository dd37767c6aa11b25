import CLinux
import Glibc
import Synchronization

/// A bounded queue from any number of threads to one consumer that waits for work.
package final class BlockingQueue<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var isClosed = false
    /// Whether the consumer waits, or is about to.
    var isWaiting = false

    /// Whether the consumer has to be woken. It is woken once.
    mutating func takeWaiting() -> Bool {
      defer { isWaiting = false }
      return isWaiting
    }
  }

  /// The maximum number of queued elements.
  package let capacity: Int
  private let state = Mutex(State())
  /// Set if the consumer waits and has something to do.
  private let wakeup: Wakeup

  package init(capacity: Int) throws(SystemError) {
    precondition(capacity > 0, "a queue needs room for one element")
    self.capacity = capacity
    wakeup = try Wakeup()
  }

  /// The number of queued elements.
  package var count: Int {
    state.withLock { $0.elements.count }
  }

  /// Whether the queue refuses new elements.
  package var isClosed: Bool {
    state.withLock { $0.isClosed }
  }

  /// Adds an element unless the queue is full or closed. Does not block.
  ///
  /// - Parameter isFirst: whether to add it at the front instead of the end.
  /// - Returns: whether it was added.
  package func push(_ element: Element, isFirst: Bool = false) -> Bool {
    let (isAdded, wasWaiting) = state.withLock { state in
      guard !state.isClosed, state.elements.count < capacity else { return (false, false) }
      state.elements.insert(element, at: isFirst ? 0 : state.elements.count)
      return (true, state.takeWaiting())
    }
    if wasWaiting { wakeup.signal() }
    return isAdded
  }

  /// Adds elements at the end, all of them or, if the queue is closed or has no room for all, none.
  /// Does not block.
  ///
  /// - Returns: whether they were added.
  package func push(contentsOf elements: [Element]) -> Bool {
    guard !elements.isEmpty else { return true }
    let (isAdded, wasWaiting) = state.withLock { state in
      guard !state.isClosed, state.elements.count + elements.count <= capacity else {
        return (false, false)
      }
      state.elements.append(contentsOf: elements)
      return (true, state.takeWaiting())
    }
    if wasWaiting { wakeup.signal() }
    return isAdded
  }

  /// Refuses new elements from now on. Queued ones can still be taken.
  package func close() {
    let wasWaiting = state.withLock { state in
      state.isClosed = true
      return state.takeWaiting()
    }
    if wasWaiting { wakeup.signal() }
  }

  /// Waits for an element and removes the first ones, at most `maximumCount`. Only one thread may
  /// call this.
  ///
  /// - Parameter deadline: the end of the wait; `nil` for no limit.
  /// - Returns: the elements; none after the deadline; `nil` if the queue is closed and empty.
  package func take(
    upTo maximumCount: Int, until deadline: ContinuousClock.Instant? = nil
  ) -> [Element]? {
    precondition(maximumCount > 0, "taking nothing would wait forever")
    while true {
      let (taken, isClosed) = state.withLock { state in
        let taken = Array(state.elements.prefix(maximumCount))
        state.elements.removeFirst(taken.count)
        state.isWaiting = taken.isEmpty && !state.isClosed
        return (taken, state.isClosed)
      }
      if !taken.isEmpty { return taken }
      if isClosed { return nil }
      if let deadline, deadline <= .now { return [] }
      wakeup.waitBlocking(until: deadline)
    }
  }
}

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

/// The start parameters of a thread, which it gets through a single pointer.
private final class ThreadStart {
  let name: String
  let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }
}

/// Starts a thread that blocks all signals, so that they reach the ``SignalSource`` of the main thread,
/// except those of its own faults, see ``CrashRegion``.
///
/// - Parameter name: the name in ps and debuggers. The kernel keeps 15 bytes.
func startThread(
  name: String, stackByteCount: Int, body: @escaping @Sendable () -> Void
) throws(SystemError) -> pthread_t {
  var attributes = pthread_attr_t()
  try check("pthread_attr_init", unsafe pthread_attr_init(&attributes))
  defer { unsafe pthread_attr_destroy(&attributes) }
  try check(
    "pthread_attr_setstacksize", unsafe pthread_attr_setstacksize(&attributes, stackByteCount))
  var signals = sigset_t()
  unsafe sigfillset(&signals)
  for signal in CrashRegion.signals { unsafe sigdelset(&signals, signal) }
  try check("pthread_attr_setsigmask_np", unsafe pthread_attr_setsigmask_np(&attributes, &signals))

  // The new thread owns it. Released here if there is no thread.
  let start = unsafe Unmanaged.passRetained(ThreadStart(name: name, body: body))
  var thread = pthread_t()
  let code = unsafe pthread_create(
    &thread, &attributes,
    { context in
      guard let context = unsafe context else { return nil }
      let start = unsafe Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
      unsafe pthread_setname_np(
        pthread_self(), String(decoding: start.name.utf8.prefix(15), as: UTF8.self))
      start.body()
      return nil
    }, start.toOpaque())
  if code != 0 { unsafe start.release() }
  try check("pthread_create", code)
  return thread
}
