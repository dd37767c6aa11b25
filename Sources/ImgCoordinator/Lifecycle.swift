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
    case draining(until: Instant)
    /// Nothing runs any more; the workers leave.
    case leaving(until: Instant)
    case ended(status: Int32)
  }

  private(set) var phase = Phase.running
  /// Why the coordinator leaves, for the log; `nil` before, and after an error.
  private(set) var endReason: String?
  private let scheduler: SchedulerDriver
  private let serviceManager: ServiceManager
  private let idleLimit: Duration?
  private let drainTime: Duration
  private var idleSince: Instant

  /// How long workers that have nothing left to do may take to leave.
  private static let leavingTime = Duration.seconds(5)

  init(
    _ settings: Settings, scheduler: SchedulerDriver, serviceManager: ServiceManager,
    at now: Instant
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
  func drain(because reason: String, at now: Instant = .now) {
    guard isRunning else { return }
    endReason = reason
    serviceManager.notify(.stopping, status: "finishing what runs")
    phase = .draining(until: now + drainTime + Self.leavingTime)
    scheduler.handle(.drainRequested)
  }

  /// Nothing runs any more, and the workers were told to leave.
  func leave(at now: Instant = .now) {
    guard exitStatus == nil else { return }
    phase = .leaving(until: now + Self.leavingTime)
  }

  /// Ends without waiting. What is not durable is looked up again at the next start.
  func end(status: Int32) {
    phase = .ended(status: status)
  }

  // MARK: - Time

  /// When ``isOverdue(at:)`` becomes true; `nil` for never.
  var deadline: Instant? {
    switch phase {
    case .draining(let until), .leaving(let until): until
    case .running, .ended: nil
    }
  }

  /// Whether the drain or the workers' end takes too long.
  func isOverdue(at now: Instant) -> Bool {
    deadline.map { $0 <= now } ?? false
  }

  /// Notes whether there is work or a client at this moment.
  func update(isIdle: Bool, at now: Instant) {
    if !isIdle { idleSince = now }
  }

  /// When a coordinator that a command started drains because it is idle.
  var idleDeadline: Instant? {
    isRunning ? idleLimit.map { idleSince + $0 } : nil
  }
}
