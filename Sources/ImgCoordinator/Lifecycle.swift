import ImgModel
import ImgScheduler
import ImgSettings
import ImgSystem
import ImgWire

/// Where the coordinator is between its start and its end.
final class Lifecycle {
  enum Phase: Equatable {
    case running
    /// The scheduler finishes what runs.
    case draining(until: ContinuousClock.Instant)
    /// Nothing runs any more; the workers leave.
    case leaving(until: ContinuousClock.Instant)
    case ended(status: Int32)
  }

  private(set) var phase = Phase.running
  private let scheduler: SchedulerDriver
  private let serviceManager: ServiceManager
  private let idleLimit: Duration?
  private let drainTime: Duration
  private var idleSince: ContinuousClock.Instant

  /// How long workers that have nothing left to do may take to leave.
  private static let leavingTime = Duration.seconds(5)

  init(
    _ settings: Settings, scheduler: SchedulerDriver, serviceManager: ServiceManager,
    at now: ContinuousClock.Instant
  ) {
    self.scheduler = scheduler
    self.serviceManager = serviceManager
    idleLimit = settings.idleExit
    // The drain waits for one transfer and two decodes, because a picture that ends its decoder is
    // tried a second time. What takes longer is ended.
    let limits = settings.limits
    drainTime = limits.transferTimeout + limits.decodeTimeout * 2
    idleSince = now
  }

  var isRunning: Bool { phase == .running }

  /// The exit status of the process; `nil` before the end.
  var exitStatus: Int32? {
    if case .ended(let status) = phase { status } else { nil }
  }

  // MARK: - Transitions

  /// Finishes what runs. Changes nothing after the first call.
  func drain(at now: ContinuousClock.Instant = .now) {
    guard isRunning else { return }
    serviceManager.notify(.stopping, status: "finishing what runs")
    phase = .draining(until: now + drainTime + Self.leavingTime)
    scheduler.handle(.drainRequested)
  }

  /// Nothing runs any more, and the workers were told to leave.
  func leave(at now: ContinuousClock.Instant = .now) {
    guard exitStatus == nil else { return }
    phase = .leaving(until: now + Self.leavingTime)
  }

  /// Ends without waiting. What is not durable is looked up again at the next start.
  func end(status: Int32) {
    phase = .ended(status: status)
  }

  // MARK: - Time

  /// When ``isOverdue(at:)`` becomes true; `nil` for never.
  var deadline: ContinuousClock.Instant? {
    switch phase {
    case .draining(let until), .leaving(let until): until
    case .running, .ended: nil
    }
  }

  /// Whether the drain or the workers' end takes too long.
  func isOverdue(at now: ContinuousClock.Instant) -> Bool {
    deadline.map { $0 <= now } ?? false
  }

  /// Notes whether there is work or a client at this moment.
  func update(isIdle: Bool, at now: ContinuousClock.Instant) {
    if !isIdle { idleSince = now }
  }

  /// When a coordinator that a command started drains because it is idle.
  var idleDeadline: ContinuousClock.Instant? {
    isRunning ? idleLimit.map { idleSince + $0 } : nil
  }
}

/// What an event of the poller is about, packed into its 64 bits. Numbers are not reused, so an event
/// for a connection that was closed in the same round finds nothing.
enum Token {
  case listener
  case signals
  case journal
  case client(ClientID)
  case workerChannel(WorkerID)
  case workerExit(WorkerID)
  case decoderExit(DecoderNumber)
  case errors(ErrorSource)

  private var kind: UInt64 {
    switch self {
    case .listener: 0
    case .signals: 1
    case .journal: 2
    case .client: 3
    case .workerChannel: 4
    case .workerExit: 5
    case .decoderExit: 6
    case .errors(.worker): 7
    case .errors(.decoder): 8
    }
  }

  var rawValue: UInt64 {
    switch self {
    case .listener, .signals, .journal: kind << 32
    case .client(let client): kind << 32 | UInt64(client.rawValue)
    case .workerChannel(let worker), .workerExit(let worker), .errors(.worker(let worker)):
      kind << 32 | UInt64(worker.rawValue)
    case .decoderExit(let decoder), .errors(.decoder(let decoder)):
      kind << 32 | UInt64(decoder.rawValue)
    }
  }

  /// Whether an event is about a client, or about one that wants to connect.
  static func isOfClientsOrListener(_ rawValue: UInt64) -> Bool {
    switch Token(rawValue: rawValue) {
    case .listener, .client: true
    case .signals, .journal, .workerChannel, .workerExit, .decoderExit, .errors, nil: false
    }
  }

  init?(rawValue: UInt64) {
    let number = UInt32(truncatingIfNeeded: rawValue)
    switch rawValue >> 32 {
    case 0: self = .listener
    case 1: self = .signals
    case 2: self = .journal
    case 3: self = .client(ClientID(rawValue: number))
    case 4: self = .workerChannel(WorkerID(rawValue: number))
    case 5: self = .workerExit(WorkerID(rawValue: number))
    case 6: self = .decoderExit(DecoderNumber(rawValue: number))
    case 7: self = .errors(.worker(WorkerID(rawValue: number)))
    case 8: self = .errors(.decoder(DecoderNumber(rawValue: number)))
    default: return nil
    }
  }
}

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
