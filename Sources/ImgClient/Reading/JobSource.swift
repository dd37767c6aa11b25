package import ImgModel
package import ImgStore
import ImgWire

/// Where a command that only reads finds jobs: from the running coordinator, or in the journal when
/// none runs.
package enum JobSource {
  case coordinator(Client)
  /// No coordinator runs, and so none of its jobs.
  case journal(Journal)
  /// There is no journal yet, and so no job.
  case nothing

  /// Opens the journal for reading.
  package init(journalIn directory: String) throws(StoreError) {
    do throws(StoreError) {
      self = .journal(try Journal(readingIn: directory))
    } catch  where error.reason == .absent {
      self = .nothing
    }
  }

  /// - Throws: ``ClientError/refused(_:message:)`` where there is no such job.
  package func status(of job: JobID) throws -> JobStatus {
    switch self {
    case .coordinator(let client): return try client.status(of: job)
    case .journal(let journal):
      guard let record = try journal.job(job), record.state != .submitting else {
        throw Self.unknown(job)
      }
      return JobStatus(unserved: record)
    case .nothing: throw Self.unknown(job)
    }
  }

  /// Calls `body` with each job, newest first.
  package func forEachJob(_ body: (JobStatus) throws -> Void) throws {
    switch self {
    case .coordinator(let client): try client.forEachJob(body)
    case .journal(let journal):
      var oldest: JobID?
      while true {
        let page = try journal.jobs(before: oldest, limit: JobsPage.maximumCount)
        for record in page { try body(JobStatus(unserved: record).withoutCookies) }
        guard page.count == JobsPage.maximumCount else { return }
        oldest = page.last?.id
      }
    case .nothing: return
    }
  }

  /// Calls `body` with each of the job's lines, or each that failed, in their order.
  package func results(
    of job: JobID, isFailedOnly: Bool, _ body: (LineResult) throws -> Void
  ) throws {
    switch self {
    case .coordinator(let client):
      try client.results(of: job, isFailedOnly: isFailedOnly, body)
    case .journal(let journal):
      let missing: Outcome? = try status(of: job).state == .cancelled ? .cancelled : nil
      var from: Int? = 0
      while let start = from {
        let page = try journal.results(
          of: job, from: start, limit: ResultsPage.maximumCount, isFailedOnly: isFailedOnly)
        for entry in page.entries {
          try body(
            LineResult(
              index: entry.index, url: entry.url, outcome: entry.outcome ?? missing))
        }
        from = page.next
      }
    case .nothing: throw Self.unknown(job)
    }
  }

  private static func unknown(_ job: JobID) -> ClientError {
    .refused(.unknownJob, message: "there is no job \(job)")
  }
}

extension JobStatus {
  /// A job that no coordinator serves. A job that had begun waits like any other.
  fileprivate init(unserved record: JobRecord) {
    var record = record
    if record.isActive { record.startedAt = nil }
    let now = WallTime.now
    self.init(record, isDelayed: record.options.delay > .zero && record.notBefore > now)
  }
}
