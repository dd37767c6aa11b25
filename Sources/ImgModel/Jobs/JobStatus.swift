/// A snapshot of a job for people and programs. Invariant: `total = queued + running + done +
/// failed + cancelled`.
package struct JobStatus: Hashable, Sendable, Codable {
  package enum State: String, CaseIterable, Sendable, Codable {
    /// Accepted; its delay is not over.
    case scheduled
    /// No URL has started.
    case queued
    case running
    /// No URL starts until a user resumes the job.
    case paused
    /// A user stopped the job; the change is not durable yet.
    case cancelling
    case finished, cancelled
    /// The job's journal record is damaged. Only its number is known.
    case damaged
  }

  package let job: JobID
  package let name: String?
  package let state: State
  package let variant: Variant
  /// Further thumbnails of each picture; `nil` if there are none.
  package let otherVariants: [Variant]?
  package let isLenient: Bool
  package let keep: Keep
  package private(set) var fetch: FetchOptions
  package let priority: Int
  package let order: LineOrder
  /// How long it pins what it has stored.
  package let pinPolicy: PinPolicy
  /// The end of its delay; `nil` for a job without a delay.
  package let notBefore: WallTime?
  package let total: Int
  package let done: Int
  /// The done lines whose pictures are damaged, see ``Thumbnail/isDamaged``.
  package let damaged: Int
  package let failed: Int
  /// The failures that `retry` includes by default.
  package let retryable: Int
  package let cancelled: Int
  package let queued: Int
  package let running: Int
  /// The done lines that were cache hits.
  package let fromCache: Int
  package let bytesFetched: Int64
  package let bytesStored: Int64
  package let submittedAt: WallTime
  package let startedAt: WallTime?
  package let finishedAt: WallTime?
  /// Why the job has had no outcome for a while; `nil` while it progresses and after its end.
  package let wait: Wait?
  /// Why the store will not hold all of it; `nil` if it probably will, and after its end.
  package let storeShortage: StoreShortage?

  /// - Parameters:
  ///   - running: the number of URLs that are leased to a worker or not yet in the journal.
  ///   - isDelayed: whether its delay is not over.
  ///   - isCancelling: whether its cancel is not durable yet.
  ///   - wait: why it does not progress.
  ///   - shortage: why the store will not hold all of it.
  package init(
    _ record: JobRecord, running: Int = 0, isDelayed: Bool = false, isCancelling: Bool = false,
    wait: Wait? = nil, shortage: StoreShortage? = nil
  ) {
    let counts = record.counts
    job = record.id
    name = record.name
    variant = record.options.variant
    let others = record.options.otherVariants
    otherVariants = others.isEmpty ? nil : others
    isLenient = record.options.isLenient
    keep = record.options.keep
    fetch = record.options.fetch
    priority = record.options.priority
    order = record.order
    pinPolicy = record.pinPolicy
    notBefore = record.options.delay > .zero ? record.notBefore : nil
    total = counts.total
    done = counts.done
    damaged = counts.damaged
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
    storeShortage = shortage
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

  /// The status without the values of header fields and without cookies, which may be secrets.
  package var withoutSecrets: JobStatus {
    var status = withoutCookies
    status.fetch.headers = fetch.headers.withoutValues
    return status
  }

  /// The status without cookies, which are many. They are known to what asks for one job alone.
  package var withoutCookies: JobStatus {
    var status = self
    status.fetch.cookies = .none
    return status
  }

  /// The lines that have an outcome.
  package var finished: Int { done + failed + cancelled }

  package var hasEnded: Bool { [.finished, .cancelled, .damaged].contains(state) }

  private enum CodingKeys: String, CodingKey {
    case job, name, state, variant, keep, fetch, priority, order, total, done, damaged, failed
    case retryable, cancelled, queued, running, wait
    case otherVariants = "other_variants"
    case isLenient = "lenient"
    case pinPolicy = "pin"
    case storeShortage = "store_shortage"
    case notBefore = "not_before"
    case fromCache = "from_cache"
    case bytesFetched = "bytes_fetched"
    case bytesStored = "bytes_stored"
    case submittedAt = "submitted_at"
    case startedAt = "started_at"
    case finishedAt = "finished_at"
  }
}
