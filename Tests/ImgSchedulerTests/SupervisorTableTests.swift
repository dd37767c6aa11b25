import ImgModel
import Testing

@testable import ImgScheduler

/// Every event in every state of a child, once.
@Suite struct SupervisorTableTests {
  enum State: String, CaseIterable {
    case starting, ready, stopping, backingOff, empty
  }

  enum Event: String, CaseIterable {
    case becomesReady, answers, exits, isKilledAtWork, isKilledIdle, timePasses, stopsRespawning
  }

  struct Row: CustomTestStringConvertible {
    let state: State
    let event: Event
    let after: State
    let verdicts: [Supervisor.Verdict]

    init(_ state: State, _ event: Event, _ after: State, _ verdicts: [Supervisor.Verdict] = []) {
      self.state = state
      self.event = event
      self.after = after
      self.verdicts = verdicts
    }

    var testDescription: String { "\(state), \(event)" }
  }

  private static let first = WorkerID(rawValue: 1)
  private static let second = WorkerID(rawValue: 2)

  static let rows = [
    Row(.starting, .becomesReady, .ready),
    Row(.starting, .answers, .starting),
    Row(.starting, .exits, .backingOff),
    Row(.starting, .isKilledAtWork, .backingOff),
    Row(.starting, .isKilledIdle, .backingOff),
    Row(.starting, .timePasses, .stopping, [.kill(first)]),
    Row(.starting, .stopsRespawning, .starting),

    Row(.ready, .becomesReady, .ready),
    Row(.ready, .answers, .ready),
    Row(.ready, .exits, .backingOff),
    Row(.ready, .isKilledAtWork, .backingOff),
    Row(.ready, .isKilledIdle, .backingOff),
    Row(.ready, .timePasses, .ready),
    Row(.ready, .stopsRespawning, .ready),

    Row(.stopping, .becomesReady, .stopping),
    Row(.stopping, .answers, .stopping),
    Row(.stopping, .exits, .backingOff),
    Row(.stopping, .isKilledAtWork, .backingOff),
    Row(.stopping, .isKilledIdle, .backingOff),
    Row(.stopping, .timePasses, .stopping),
    Row(.stopping, .stopsRespawning, .stopping),

    Row(.backingOff, .becomesReady, .backingOff),
    Row(.backingOff, .answers, .backingOff),
    Row(.backingOff, .exits, .backingOff),
    Row(.backingOff, .isKilledAtWork, .backingOff),
    Row(.backingOff, .isKilledIdle, .backingOff),
    Row(.backingOff, .timePasses, .starting, [.spawn(second, number: 0)]),
    Row(.backingOff, .stopsRespawning, .empty),

    Row(.empty, .becomesReady, .empty),
    Row(.empty, .answers, .empty),
    Row(.empty, .exits, .empty),
    Row(.empty, .isKilledAtWork, .empty),
    Row(.empty, .isKilledIdle, .empty),
    Row(.empty, .timePasses, .empty),
    Row(.empty, .stopsRespawning, .empty),
  ]

  @Test func `the table has each pair once`() {
    #expect(Set(rowNames).count == Self.rows.count)
    #expect(Self.rows.count == State.allCases.count * Event.allCases.count)
  }

  private var rowNames: [String] { Self.rows.map(\.testDescription) }

  @Test(arguments: rows)
  func `each state takes each event`(row: Row) {
    var now = ContinuousClock.now
    var supervisor = Self.supervisor(in: row.state, at: &now)
    var verdicts: [Supervisor.Verdict] = []
    switch row.event {
    case .becomesReady:
      let number = supervisor.workerReady(Self.first)
      #expect(number == (row.state == .starting ? 0 : nil), "only who starts is waited for")
    case .answers: supervisor.workerAnswered(Self.first)
    case .exits: verdicts = supervisor.workerExited(Self.first, .failed, reason: "exit 1", at: now)
    case .isKilledAtWork:
      verdicts = supervisor.workerExited(Self.first, .killedAtWork, reason: "SIGKILL", at: now)
    case .isKilledIdle:
      verdicts = supervisor.workerExited(Self.first, .killedIdle, reason: "SIGKILL", at: now)
    case .timePasses: verdicts = supervisor.timePassed(at: now + Supervisor.startTimeout)
    case .stopsRespawning: supervisor.stopRespawning()
    }
    #expect(Self.state(of: supervisor) == row.after)
    #expect(verdicts == row.verdicts)
  }

  @Test(arguments: [State.starting, .ready, .stopping])
  func `a child that is not started any more is empty when its process exits`(state: State) {
    var now = ContinuousClock.now
    var supervisor = Self.supervisor(in: state, at: &now)
    supervisor.stopRespawning()
    #expect(supervisor.workerExited(Self.first, .failed, reason: "left", at: now) == [])
    #expect(Self.state(of: supervisor) == .empty)
    #expect(supervisor.children[0].deaths == 0)
  }

  /// A supervisor of one child, whose process is the first.
  private static func supervisor(
    in state: State, at now: inout ContinuousClock.Instant
  ) -> Supervisor {
    var supervisor = Supervisor(workerCount: 1)
    #expect(supervisor.startAll(at: now) == [.spawn(first, number: 0)])
    switch state {
    case .starting: break
    case .ready: #expect(supervisor.workerReady(first) == 0)
    case .stopping:
      now += Supervisor.startTimeout
      #expect(supervisor.timePassed(at: now) == [.kill(first)])
    case .backingOff, .empty:
      #expect(supervisor.workerExited(first, .failed, reason: "exit 1", at: now) == [])
      if state == .empty { supervisor.stopRespawning() }
    }
    #expect(self.state(of: supervisor) == state)
    return supervisor
  }

  private static func state(of supervisor: Supervisor) -> State {
    switch supervisor.children[0].state {
    case .starting: .starting
    case .ready: .ready
    case .stopping: .stopping
    case .backingOff: .backingOff
    case .empty: .empty
    }
  }
}
