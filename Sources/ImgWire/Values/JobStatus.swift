/// A job as people and programs see it, at one moment: `total = queued + running + done + failed +
/// cancelled`, always.
package struct JobStatus: Hashable, Sendable, Codable {
  package enum State: String, CaseIterable, Sendable, Codable {
    case queued, running, finished, cancelled
  }

  package let job: JobID
  package let name: String?
  package let state: State
  package let variant: Variant
  package let total: Int
  package let done: Int
  package let failed: Int
  package let cancelled: Int
  package let queued: Int
  package let running: Int
  /// Of `done`: those that were in the store before anybody fetched.
  package let fromCache: Int
  package let bytesFetched: Int64
  package let bytesStored: Int64
  package let submittedAt: WallTime
  package let startedAt: WallTime?
  package let finishedAt: WallTime?

  /// - Parameter running: how many URLs are with a worker or on their way into the journal.
  package init(_ record: JobRecord, running: Int = 0) {
    let counts = record.counts
    job = record.id
    name = record.name
    variant = record.options.variant
    total = counts.total
    done = counts.done
    failed = counts.failed
    cancelled = counts.cancelled
    self.running = running
    queued = counts.total - counts.finished - running
    fromCache = counts.fromCache
    bytesFetched = counts.bytesFetched
    bytesStored = counts.bytesStored
    submittedAt = record.submittedAt
    startedAt = record.startedAt
    finishedAt = record.finishedAt
    state =
      switch record.state {
      case .finished: .finished
      case .cancelled: .cancelled
      case .submitting, .queued: record.startedAt == nil ? .queued : .running
      }
  }

  /// URLs that have an outcome.
  package var finished: Int { done + failed + cancelled }

  package var hasEnded: Bool { state == .finished || state == .cancelled }

  private enum CodingKeys: String, CodingKey {
    case job, name, state, variant, total, done, failed, cancelled, queued, running
    case fromCache = "from_cache"
    case bytesFetched = "bytes_fetched"
    case bytesStored = "bytes_stored"
    case submittedAt = "submitted_at"
    case startedAt = "started_at"
    case finishedAt = "finished_at"
  }
}
