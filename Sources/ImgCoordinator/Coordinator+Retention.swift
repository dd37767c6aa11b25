import ImgModel
import ImgSettings
import ImgStore
import ImgSystem

/// Retention: jobs that ended long ago are removed, as `imgctl remove` removes them. The journal is
/// looked through in rounds, so that however many jobs there are, everybody else is heard meanwhile.
extension Coordinator {
  private static let roundJobCount = 256
  private static let roundInterval = Duration.milliseconds(100)
  /// From the newest job to the oldest again.
  private static let longestInterval = Duration.seconds(60)

  var hasRetention: Bool { phase == .running && settings.limits.keepJobsMilliseconds != nil }

  func removeOldJobs(at now: ContinuousClock.Instant) {
    guard hasRetention, let keep = settings.limits.keepJobsMilliseconds else { return }
    let wall = WallTime(rawValue: WallClock.milliseconds())
    // One that cannot be read says so to whoever asks about its jobs.
    let jobs = (try? journal.jobs(after: retentionCursor, limit: Self.roundJobCount)) ?? []
    for job in jobs where !job.isActive && pendingChanges[job.id] == nil {
      guard let end = job.finishedAt, end.milliseconds(to: wall) >= keep else { continue }
      // Until it is durable, the job takes no other change.
      pendingChanges[job.id] = PendingChange(requester: nil, status: JobStatus(job))
      journalWriter.submit(.change(job.id, .remove, at: wall))
    }
    if jobs.count == Self.roundJobCount {
      retentionCursor = jobs.last?.id
      nextRetention = now + Self.roundInterval
    } else {
      retentionCursor = nil
      nextRetention =
        now + max(Self.roundInterval, min(Self.longestInterval, .milliseconds(keep)))
    }
  }
}
