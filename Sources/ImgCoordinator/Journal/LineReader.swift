import ImgModel
import ImgScheduler
import ImgStore

/// The pages of lists that the scheduler asked for, read from the journal in their order.
final class LineReader {
  private let scheduler: SchedulerDriver
  private let journal: JobJournal
  private let lifecycle: Lifecycle
  private let log: Log
  private var requests: [LinePageRequest] = []

  init(scheduler: SchedulerDriver, journal: JobJournal, lifecycle: Lifecycle, log: Log) {
    self.scheduler = scheduler
    self.journal = journal
    self.lifecycle = lifecycle
    self.log = log
  }

  var isIdle: Bool { requests.isEmpty }

  func add(_ request: LinePageRequest) {
    requests.append(request)
  }

  /// Reads one page, so that the loop serves everything else meanwhile, however much there is to
  /// read.
  func readNext() {
    guard !requests.isEmpty else { return }
    let request = requests.removeFirst()
    guard scheduler.state.awaits(request) else { return }
    do throws(StoreError) {
      let page = try journal.stored.urls(
        of: request.job, positions: request.positions, order: request.order,
        limit: request.limit)
      let lines = page.entries.map { JobLine(index: $0.index, text: $0.url) }
      scheduler.handle(.linesRead(request, LinePage(lines: lines, next: page.next)))
    } catch {
      // Without its lists the coordinator cannot work, and the job would never end.
      log.note("job \(request.job) cannot be read from the journal: \(error)")
      lifecycle.end(status: 1)
    }
  }
}

/// Removes jobs that ended long ago, as `imgctl remove` does. It scans the journal in rounds, so that
/// the loop serves everything else meanwhile, however many jobs there are.
final class JobRetention {
  /// How long a job stays after its end; `nil` for ever.
  private let keptTime: Duration?
  private let journal: JobJournal
  private let changes: JobChanges
  private let lifecycle: Lifecycle
  private var next: ContinuousClock.Instant
  /// The last job that was looked at; `nil` before the oldest.
  private var cursor: JobID?

  private static let roundJobCount = 256
  private static let roundInterval = Duration.milliseconds(100)
  /// From the newest job to the oldest again.
  private static let longestInterval = Duration.seconds(60)

  /// - Parameter now: when the first round is due.
  init(
    keptTime: Duration?, journal: JobJournal, changes: JobChanges, lifecycle: Lifecycle,
    at now: ContinuousClock.Instant
  ) {
    self.keptTime = keptTime
    self.journal = journal
    self.changes = changes
    self.lifecycle = lifecycle
    next = now
  }

  /// When ``removeOldJobs(at:)`` has something to do; `nil` while every job stays.
  var deadline: ContinuousClock.Instant? {
    lifecycle.isRunning && keptTime != nil ? next : nil
  }

  /// Looks at the next jobs if a round is due.
  func removeOldJobs(at now: ContinuousClock.Instant) {
    guard let deadline, deadline <= now, let keptTime else { return }
    let wall = WallTime.now
    // A journal that cannot be read says so to clients that ask about its jobs.
    let jobs = (try? journal.stored.jobs(after: cursor, limit: Self.roundJobCount)) ?? []
    for job in jobs where !job.isActive {
      guard let end = job.finishedAt, end.duration(to: wall) >= keptTime else {
        continue
      }
      changes.remove(job, at: wall)
    }
    if jobs.count == Self.roundJobCount {
      cursor = jobs.last?.id
      next = now + Self.roundInterval
    } else {
      cursor = nil
      next = now + max(Self.roundInterval, min(Self.longestInterval, keptTime))
    }
  }
}
