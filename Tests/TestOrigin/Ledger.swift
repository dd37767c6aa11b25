import Dispatch
import Synchronization

/// Keeps the counters and wakes the threads that wait for them to change.
final class Ledger: Sendable {
  private struct State {
    var snapshot = OriginSnapshot()
    var waiters: [ObjectIdentifier: DispatchSemaphore] = [:]
  }

  private let state = Mutex(State())

  var snapshot: OriginSnapshot {
    state.withLock { $0.snapshot }
  }

  @discardableResult
  func record<Result>(_ change: (inout OriginSnapshot) -> Result) -> Result {
    state.withLock { state in
      defer { for waiter in state.waiters.values { waiter.signal() } }
      return change(&state.snapshot)
    }
  }

  /// Waits until the counters meet a condition, which is looked at after every change.
  ///
  /// - Returns: False when they did not within `seconds`.
  func wait(seconds: Double, until condition: (OriginSnapshot) -> Bool) -> Bool {
    let deadline = DispatchTime.now() + seconds
    let change = DispatchSemaphore(value: 0)
    state.withLock { $0.waiters[ObjectIdentifier(change)] = change }
    defer { state.withLock { _ = $0.waiters.removeValue(forKey: ObjectIdentifier(change)) } }
    repeat {
      if isMet(condition) { return true }
    } while change.wait(timeout: deadline) == .success
    return isMet(condition)
  }

  /// Looked at in place: a copy would make the next change copy every counter.
  private func isMet(_ condition: (OriginSnapshot) -> Bool) -> Bool {
    state.withLock { condition($0.snapshot) }
  }
}
