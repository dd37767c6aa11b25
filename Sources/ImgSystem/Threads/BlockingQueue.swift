import Synchronization

/// A bounded queue from any number of threads to one consumer that waits for work.
package final class BlockingQueue<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var isClosed = false
  }

  /// The maximum number of queued elements.
  package let capacity: Int
  private let state = Mutex(State())
  /// Set if the consumer may have something to do.
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
    let (isAdded, wasEmpty) = state.withLock { state in
      guard !state.isClosed, state.elements.count < capacity else { return (false, false) }
      state.elements.insert(element, at: isFirst ? 0 : state.elements.count)
      return (true, state.elements.count == 1)
    }
    if wasEmpty { wakeup.signal() }
    return isAdded
  }

  /// Adds elements at the end, all of them or, if the queue is closed or has no room for all, none.
  /// Does not block.
  ///
  /// - Returns: whether they were added.
  package func push(contentsOf elements: [Element]) -> Bool {
    guard !elements.isEmpty else { return true }
    let (isAdded, wasEmpty) = state.withLock { state in
      guard !state.isClosed, state.elements.count + elements.count <= capacity else {
        return (false, false)
      }
      state.elements.append(contentsOf: elements)
      return (true, state.elements.count == elements.count)
    }
    if wasEmpty { wakeup.signal() }
    return isAdded
  }

  /// Refuses new elements from now on. Queued ones can still be taken.
  package func close() {
    state.withLock { $0.isClosed = true }
    wakeup.signal()
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
        return (taken, state.isClosed)
      }
      if !taken.isEmpty { return taken }
      if isClosed { return nil }
      if let deadline, deadline <= .now { return [] }
      wakeup.waitBlocking(until: deadline)
    }
  }
}
