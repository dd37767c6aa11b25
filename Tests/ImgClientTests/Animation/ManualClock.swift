import Synchronization

/// A clock whose time passes when a test says so.
final class ManualClock: Clock, Sendable {
  struct Instant: InstantProtocol {
    let time: Duration

    func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
    func duration(to other: Instant) -> Duration { other.time - time }
    static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
  }

  private struct Sleeper {
    let number: Int
    let deadline: Instant
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now = Instant(time: .zero)
    var lastNumber = 0
    var sleepers: [Sleeper] = []
  }

  private let state = Mutex(State())

  var now: Instant { state.withLock { $0.now } }
  var minimumResolution: Duration { .zero }
  var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  func advance(by duration: Duration) {
    let woken = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let now = state.now
      defer { state.sleepers.removeAll { $0.deadline <= now } }
      return state.sleepers.filter { $0.deadline <= now }
    }
    for sleeper in woken { sleeper.continuation.resume() }
  }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let end = state.withLock { state -> Result<Void, any Error>? in
          if Task.isCancelled { return .failure(CancellationError()) }
          if deadline <= state.now { return .success(()) }
          state.sleepers.append(
            Sleeper(number: number, deadline: deadline, continuation: continuation))
          return nil
        }
        if let end { continuation.resume(with: end) }
      }
    } onCancel: {
      let sleeper = state.withLock { state in
        state.sleepers.firstIndex { $0.number == number }.map { state.sleepers.remove(at: $0) }
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }
}
