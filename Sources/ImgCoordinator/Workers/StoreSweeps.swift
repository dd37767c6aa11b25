import ImgModel
import ImgScheduler
import ImgSystem
import ImgWire

/// When expired thumbnails are removed from the store: at the start, then once a minute, and when a
/// client asks for it. One worker does it, in its pauses.
final class StoreSweeps {
  private let scheduler: SchedulerDriver
  private let workers: WorkerPool
  private let lifecycle: Lifecycle
  private var next: ContinuousClock.Instant
  /// Whether a client asked for the next sweep.
  private var isRequested = false

  private static let interval = Duration.seconds(60)
  /// What expired more recently is left to look-ups, which remove what they find expired. A sweep is
  /// for what no request asks for.
  private static let grace = Duration.seconds(60)

  /// - Parameter now: when the first sweep is due.
  init(
    scheduler: SchedulerDriver, workers: WorkerPool, lifecycle: Lifecycle,
    at now: ContinuousClock.Instant
  ) {
    self.scheduler = scheduler
    self.workers = workers
    self.lifecycle = lifecycle
    next = now
  }

  /// The worker that sweeps; `nil` while none is ready, or the coordinator drains.
  private var housekeeper: WorkerID? {
    lifecycle.isRunning ? scheduler.state.housekeeper : nil
  }

  /// When ``sweep(at:)`` has something to do; `nil` while no worker can.
  var deadline: ContinuousClock.Instant? { housekeeper == nil ? nil : next }

  /// Makes a sweep due without the grace: the client means what has expired by now.
  func request(at now: ContinuousClock.Instant) {
    isRequested = true
    next = now
  }

  /// Starts a sweep if one is due.
  func sweep(at now: ContinuousClock.Instant) {
    guard next <= now, let worker = housekeeper else { return }
    let moment = WallTime.now.advanced(by: isRequested ? .zero : .zero - Self.grace)
    isRequested = false
    next = now + Self.interval
    workers.send(.sweep(Sweep(at: moment)), to: worker)
  }
}
