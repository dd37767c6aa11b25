/// A job as people and programs see it, at one moment: `total = queued + running + done + failed +
/// cancelled`, always.
package struct JobStatus: Hashable, Sendable, Codable {
  package enum State: String, CaseIterable, Sendable, Codable {
    /// Accepted with a delay that is not over.
    case scheduled
    /// Nothing of it has begun.
    case queued
    case running
    /// Nothing more of it begins until a person resumes it.
    case paused
    /// Stopped by a person; the stop is not durable yet.
    case cancelling
    case finished, cancelled
    /// The journal's record of the job is damaged: nothing but its number is known.
    case damaged
  }

  package let job: JobID
  package let name: String?
  package let state: State
  package let variant: Variant
  package let keep: Keep
  package let fetch: FetchOptions
  package let priority: Int
  package let order: LineOrder
  /// The end of its delay, before which nothing of it begins; `nil` where there was none.
  package let notBefore: WallTime?
  package let total: Int
  package let done: Int
  package let failed: Int
  /// Of `failed`: those that `retry` tries again.
  package let retryable: Int
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
  /// Why it has had no outcome for a while; `nil` while it has some, and after its end.
  package let wait: Wait?

  /// - Parameters:
  ///   - running: how many URLs are with a worker or on their way into the journal.
  ///   - isDelayed: whether its delay is not over.
  ///   - isCancelling: whether it is being cancelled.
  ///   - wait: why it does not move.
  package init(
    _ record: JobRecord, running: Int = 0, isDelayed: Bool = false, isCancelling: Bool = false,
    wait: Wait? = nil
  ) {
    let counts = record.counts
    job = record.id
    name = record.name
    variant = record.options.variant
    keep = record.options.keep
    fetch = record.options.fetch
    priority = record.options.priority
    order = record.order
    notBefore = record.options.delayMilliseconds > 0 ? record.notBefore : nil
    total = counts.total
    done = counts.done
    failed = counts.failed
    retryable = counts.retryable
    cancelled = counts.cancelled
    self.running = running
    queued = counts.total - counts.finished - running
    fromCache = counts.fromCache
    bytesFetched = counts.bytesFetched
    bytesStored = counts.bytesStored
    submittedAt = record.submittedAt
    startedAt = record.startedAt
    finishedAt = record.finishedAt
    self.wait = wait
    state =
      switch record.state {
      case .finished: .finished
      case .cancelled: .cancelled
      case .damaged: .damaged
      case .submitting, .queued, .paused:
        if isCancelling {
          .cancelling
        } else if record.state == .paused {
          .paused
        } else if isDelayed {
          .scheduled
        } else {
          record.startedAt == nil ? .queued : .running
        }
      }
  }

  /// URLs that have an outcome.
  package var finished: Int { done + failed + cancelled }

  package var hasEnded: Bool { [.finished, .cancelled, .damaged].contains(state) }

  private enum CodingKeys: String, CodingKey {
    case job, name, state, variant, keep, fetch, priority, order, total, done, failed, retryable
    case cancelled, queued, running, wait
    case notBefore = "not_before"
    case fromCache = "from_cache"
    case bytesFetched = "bytes_fetched"
    case bytesStored = "bytes_stored"
    case submittedAt = "submitted_at"
    case startedAt = "started_at"
    case finishedAt = "finished_at"
  }
}
