import ImgModel
import ImgStore

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
