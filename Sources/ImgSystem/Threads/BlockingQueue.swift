import Synchronization

/// A bounded queue from any number of threads to one that waits for work.
package final class BlockingQueue<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var isClosed = false
  }

  /// The most elements that wait at a time.
  package let capacity: Int
  private let state = Mutex(State())
  /// Up whenever there may be something for the consumer to see.
  private let wakeup: Wakeup

  package init(capacity: Int) throws(SystemError) {
    precondition(capacity > 0, "a queue needs room for one element")
    self.capacity = capacity
    wakeup = try Wakeup()
  }

  /// How many elements wait.
  package var count: Int {
    state.withLock { $0.elements.count }
  }

  /// Whether nothing is taken on any more.
  package var isClosed: Bool {
    state.withLock { $0.isClosed }
  }

  /// Adds an element unless the queue is full or closed; never waits.
  ///
  /// - Parameter isFirst: whether it is taken before all that wait, instead of after them.
  /// - Returns: whether it was added.
  package func push(_ element: Element, isFirst: Bool = false) -> Bool {
    let (isAdded, wasEmpty) = state.withLock { state in
      guard !state.isClosed, state.elements.count < capacity else { return (false, false) }
      state.elements.insert(element, at: isFirst ? 0 : state.elements.count)
      return (true, state.elements.count == 1)
    }
    if wasEmpty { wakeup.signal() }
    return isAdded
  }

  /// Refuses elements from now on; those that wait can still be taken.
  package func close() {
    state.withLock { $0.isClosed = true }
    wakeup.signal()
  }

  /// The oldest elements, at most `maximumCount`; waits for the first. To be called by one thread.
  ///
  /// - Parameter deadline: when not to wait any longer; `nil` for never.
  /// - Returns: at least one element, none when there was none up to the deadline, or `nil` when the
  ///   queue is closed and empty.
  package func take(
    upTo maximumCount: Int, until deadline: ContinuousClock.Instant? = nil
  ) -> [Element]? {
    precondition(maximumCount > 0, "taking nothing would wait for ever")
    while true {
      let (taken, isClosed) = state.withLock { state in
        let taken = Array(state.elements.prefix(maximumCount))
        state.elements.removeFirst(taken.count)
        return (taken, state.isClosed)
      }
      if !taken.isEmpty { return taken }
      if isClosed { return nil }
      if let deadline, deadline <= .now { return [] }
      wakeup.waitBlocking(until: deadline)
    }
  }
}
