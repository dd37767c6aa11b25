import Synchronization

/// Ends what takes too long. All loads of a process share one timer: a timer each would cost more than the
/// request to the coordinator.
final class Timeouts: Sendable {
  /// The end of one load's time.
  final class Timeout: Sendable {
    private enum State {
      case waiting
      /// The time was over first.
      case fired
      /// The load ended first.
      case ended
    }

    fileprivate let moment: ContinuousClock.Instant
    private let action: @Sendable () -> Void
    private let state = Mutex(State.waiting)

    fileprivate init(at moment: ContinuousClock.Instant, action: @escaping @Sendable () -> Void) {
      self.moment = moment
      self.action = action
    }

    fileprivate var isWaiting: Bool { state.withLock { $0 == .waiting } }

    fileprivate func fire() {
      if leaveWaiting(for: .fired) == .waiting { action() }
    }

    /// The load has ended.
    ///
    /// - Returns: whether its time was over before.
    @discardableResult
    func end() -> Bool { leaveWaiting(for: .ended) == .fired }

    /// - Returns: the state before.
    private func leaveWaiting(for next: State) -> State {
      state.withLock { state in
        defer { if state == .waiting { state = next } }
        return state
      }
    }
  }

  private struct State {
    /// Those that ended are removed by the next look.
    var timeouts: [Timeout] = []
    var isLooking = false
  }

  static let shared = Timeouts()

  /// An action is late by this time at most. As long, what has ended takes memory.
  private static let interval = Duration.milliseconds(50)

  private let state = Mutex(State())

  /// Runs an action at a moment or soon after, unless ``Timeout/end()`` is called before.
  ///
  /// - Parameter action: must not block.
  func add(at moment: ContinuousClock.Instant, action: @escaping @Sendable () -> Void) -> Timeout {
    let timeout = Timeout(at: moment, action: action)
    let isFirst = state.withLock { state in
      state.timeouts.append(timeout)
      defer { state.isLooking = true }
      return !state.isLooking
    }
    if isFirst { Task.detached { await self.look() } }
    return timeout
  }

  /// Looks at intervals for those whose time is over, as long as there are any.
  private func look() async {
    var isAnyWaiting = true
    while isAnyWaiting {
      // Only its own cancellation would end the sleep early, and nothing cancels it.
      try? await Task.sleep(for: Self.interval)
      let now = ContinuousClock.now
      let due = state.withLock { state in
        let waiting = state.timeouts.filter(\.isWaiting)
        state.timeouts = waiting.filter { $0.moment > now }
        isAnyWaiting = !state.timeouts.isEmpty
        state.isLooking = isAnyWaiting
        return waiting.filter { $0.moment <= now }
      }
      for timeout in due { timeout.fire() }
    }
  }
}
