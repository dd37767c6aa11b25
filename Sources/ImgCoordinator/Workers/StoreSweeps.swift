import Glibc
import ImgModel
import ImgScheduler
import ImgSettings
import ImgStore
import ImgSystem
import ImgWire

/// When expired thumbnails are removed from the store: at the start, then once a minute, and when a
/// client asks for it. One worker does it, in its pauses.
///
/// The worker answers with the size of the store and the jobs that pin thumbnails. Of these, the pins of jobs
/// are removed that no longer hold any, see `PinPolicy`: what the journal says counts, so nothing has to be
/// remembered over a restart.
final class StoreSweeps {
  private let scheduler: SchedulerDriver
  private let workers: WorkerPool
  private let journal: JobJournal
  private let lifecycle: Lifecycle
  private var next: Instant
  private var last: Instant?
  /// Whether a client asked for the next sweep.
  private var isRequested = false
  /// The reports of workers that were looked at.
  private var reportCount = 0
  /// Whether the last report had pins to remove.
  private var isReleasing = false

  private static let interval = Duration.seconds(60)
  /// While jobs run: the disk may get full meanwhile.
  private static let activeInterval = Duration.seconds(10)
  /// While jobs wait for room in the store, or pins are removed.
  private static let shortInterval = Duration.seconds(1)
  /// What expired more recently is left to look-ups, which remove what they find expired. A sweep is
  /// for what no request asks for.
  private static let grace = Duration.seconds(60)

  /// - Parameter now: when the first sweep is due.
  init(
    scheduler: SchedulerDriver, workers: WorkerPool, journal: JobJournal, lifecycle: Lifecycle,
    at now: Instant
  ) {
    self.scheduler = scheduler
    self.workers = workers
    self.journal = journal
    self.lifecycle = lifecycle
    next = now
  }

  /// The worker that sweeps; `nil` while none is ready, or the coordinator drains.
  private var housekeeper: WorkerID? {
    lifecycle.isRunning ? scheduler.state.housekeeper : nil
  }

  /// When ``sweep(at:)`` has something to do; `nil` while no worker can.
  var deadline: Instant? { housekeeper == nil ? nil : due }

  private var due: Instant {
    guard let last, !scheduler.state.jobs.isEmpty || isReleasing else { return next }
    let isShort = isReleasing || scheduler.state.awaitsRoomForPins
    return min(next, last + (isShort ? Self.shortInterval : Self.activeInterval))
  }

  /// Makes a sweep due without the grace: the client means what has expired by now.
  func request(at now: Instant) {
    isRequested = true
    next = now
  }

  /// A job holds no pins any more.
  func pinsEnded(at now: Instant) {
    next = now
  }

  /// Starts a sweep if one is due.
  func sweep(at now: Instant) {
    guard let worker = housekeeper else { return }
    releasePins(with: worker)
    guard due <= now else { return }
    let moment = WallTime.now.advanced(by: isRequested ? .zero : .zero - Self.grace)
    isRequested = false
    next = now + Self.interval
    last = now
    workers.send(.sweep(expiredAt: moment), to: worker)
  }

  /// Has the pins removed of jobs that hold none, if a worker has reported since the last call.
  private func releasePins(with worker: WorkerID) {
    guard scheduler.state.storeReportCount != reportCount,
      let report = scheduler.state.storeReport
    else { return }
    reportCount = scheduler.state.storeReportCount
    let ended = report.pinningJobs.filter { !holdsPins($0) }
    isReleasing = !ended.isEmpty
    if isReleasing { workers.send(.unpin(ended), to: worker) }
  }

  /// A job that cannot be read keeps its pins.
  private func holdsPins(_ id: JobID) -> Bool {
    do throws(StoreError) {
      return try journal.stored.job(id)?.holdsPins ?? false
    } catch {
      return true
    }
  }
}
