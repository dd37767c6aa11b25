import Synchronization
import Testing

@testable import ImgClient

@Suite(.timeLimit(.minutes(20)))
struct TimeoutsTests {
  /// Counts the runs of an action.
  private final class Runs: Sendable {
    private let atomic = Atomic(0)

    var count: Int { atomic.load(ordering: .relaxed) }

    func add() { atomic.add(1, ordering: .relaxed) }
  }

  private let timeouts = Timeouts()

  @Test func `an action runs after its moment, and once`() async throws {
    let runs = Runs()
    let moment = ContinuousClock.now + .milliseconds(20)
    let timeout = timeouts.add(at: moment) {
      #expect(ContinuousClock.now >= moment)
      runs.add()
    }
    #expect(try await eventually { runs.count > 0 })
    #expect(timeout.end(), "the time was over before")
    // It is looked at no more when a later one has run.
    try await waitForAnother()
    #expect(runs.count == 1)
  }

  @Test func `an action does not run if what it ends has ended`() async throws {
    let runs = Runs()
    let timeout = timeouts.add(at: .now) { runs.add() }
    #expect(!timeout.end())
    try await waitForAnother()
    #expect(runs.count == 0)
  }

  @Test func `what has ended is let go long before its moment`() async throws {
    weak var timeout: Timeouts.Timeout?
    do {
      let added = timeouts.add(at: .now + .seconds(3_600)) {}
      timeout = added
      #expect(!added.end())
    }
    #expect(try await eventually { timeout == nil })
  }

  @Test func `a timeout that comes when all others have ended runs, too`() async throws {
    try await waitForAnother()
    try await waitForAnother()
  }

  private func waitForAnother() async throws {
    let runs = Runs()
    let timeout = timeouts.add(at: .now) { runs.add() }
    #expect(try await eventually { runs.count == 1 })
    #expect(timeout.end())
  }
}
