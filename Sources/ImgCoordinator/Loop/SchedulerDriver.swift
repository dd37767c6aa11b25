import ImgModel
import ImgScheduler
import ImgSystem

/// The scheduler and its effects that are not performed yet.
///
/// An event changes the scheduler at once. Its effects wait here until the loop takes them, in the
/// order of their events: an effect never runs inside another one.
final class SchedulerDriver {
  /// What the scheduler knows, for reports.
  private(set) var state: Scheduler
  private var effects: [Effect] = []
  /// Index in `effects` of the first that was not taken.
  private var next = 0

  init(limits: Limits, seed: UInt64 = .random(in: 0...UInt64.max)) {
    state = Scheduler(limits: limits, seed: seed, at: .now)
  }

  func handle(_ event: Event) {
    effects += state.handle(event, at: .now)
  }

  /// Takes the oldest effect; `nil` when none waits.
  func nextEffect() -> Effect? {
    guard next < effects.count else {
      effects.removeAll(keepingCapacity: true)
      next = 0
      return nil
    }
    defer { next += 1 }
    return effects[next]
  }

  /// What viewers wait for, as far as it is news to their clients.
  func takeWaitReports(at now: ContinuousClock.Instant) -> [(viewer: ViewerID, wait: Wait)] {
    state.takeWaitReports(at: now)
  }
}
