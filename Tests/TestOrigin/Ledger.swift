import Dispatch
import Synchronization

/// Keeps the counters and wakes whoever waits for them to change.
final class Ledger: Sendable {
  private struct State {
    var snapshot = OriginSnapshot()
    var waiters: [ObjectIdentifier: DispatchSemaphore] = [:]
  }

  private let state = Mutex(State())

  var snapshot: OriginSnapshot {
    state.withLock { $0.snapshot }
  }

  func record(_ change: (inout OriginSnapshot) -> Void) {
    state.withLock { state in
      change(&state.snapshot)
      for waiter in state.waiters.values { waiter.signal() }
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
      if condition(snapshot) { return true }
    } while change.wait(timeout: deadline) == .success
    return condition(snapshot)
  }
}
