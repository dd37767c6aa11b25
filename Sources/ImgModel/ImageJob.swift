public import FoundationEssentials

/// A job at one moment: a list of URLs whose thumbnails the cluster makes in the background.
///
/// It encodes as `imgctl status JOB --json` prints it, without `schema`. What a program has does not contain the
/// values of its header fields.
public struct ImageJob: Hashable, Sendable, Identifiable {
  /// How far a job is. The raw value is the name that `imgctl` uses.
  ///
  /// Later versions may add states, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum State: String, Hashable, CaseIterable, Sendable, Codable {
    /// Its delay is not over.
    case scheduled
    /// No URL has started.
    case queued
    /// Its thumbnails are being made.
    case running
    /// No URL starts until the job is resumed.
    case paused
    /// The job was cancelled, and that is not on disk yet.
    case cancelling
    /// Each URL has a result.
    case finished
    /// The job was cancelled.
    case cancelled
    /// The record of the job is damaged. The job can only be removed.
    case damaged
  }

  /// Which of several jobs, or of several requests, comes first.
  ///
  /// The enumeration is closed: no version adds a case.
  public enum Priority: Int, Hashable, Sendable, CaseIterable, Comparable, Codable {
    /// After all others.
    case veryLow = -2
    /// After ``normal``.
    case low
    /// What a job or a request has by default.
    case normal
    /// Before ``normal``.
    case high
    /// Before all others.
    case veryHigh

    /// Whether a priority is less urgent than another.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }

  package let job: JobID
  /// The name that lists show; `nil` if it has none.
  public let name: String?
  /// How far it is.
  public let state: State
  /// What is made from each URL.
  package private(set) var request: ThumbnailRequest
  /// When what is made from each URL expires.
  package let expiry: Expiry
  /// Which of several jobs comes first.
  public let priority: Priority
  /// See ``RequestOptions/hostRatePerMinute``.
  package let hostRatePerMinute: Int
  /// See ``RequestOptions/attempts``.
  package let attempts: Int?
  package let order: LineOrder
  /// How long it pins what it has stored.
  package let pinPolicy: PinPolicy
  /// The names of the columns that its lines have beside their URLs.
  package let columns: [String]
  /// The end of its delay; `nil` for a job without a delay.
  package let notBefore: WallTime?
  /// The URLs of the list. Always the sum of ``queued``, ``running``, ``done``, ``failed`` and
  /// ``cancelled``.
  public let total: Int
  /// URLs with a thumbnail.
  public let done: Int
  /// Those of ``done`` whose pictures are damaged.
  public let damaged: Int
  /// URLs without a thumbnail.
  public let failed: Int
  /// Those of ``failed`` that may succeed later, and that a retry includes by default.
  public let retryable: Int
  /// The ``failed`` ones by their codes, the most frequent first. Empty for a job that ended under a release which
  /// did not count them.
  public let failures: [ImageJobFailures]
  /// URLs that the cancellation of the job ended.
  public let cancelled: Int
  /// URLs that have not started.
  public let queued: Int
  /// URLs that are looked up, fetched or decoded.
  public let running: Int
  /// Those of ``done`` whose thumbnails the store had.
  public let fromCache: Int
  /// Bytes of the responses of origins.
  public let fetchedByteCount: Int64
  /// Bytes of the thumbnails that were stored.
  public let storedByteCount: Int64
  /// How often it was retried; `nil` for never.
  package let retryCount: Int?
  package let submissionTime: WallTime
  package let startTime: WallTime?
  package let endTime: WallTime?
  /// Why the job has had no outcome for a while; `nil` while it progresses and after its end.
  package let wait: Wait?
  /// Why the store will not hold all of it; `nil` if it probably will, and after its end.
  package let storeShortage: StoreShortage?

  /// - Parameters:
  ///   - running: the number of URLs that are leased to a worker or not yet in the journal.
  ///   - unrecordedByteCount: bytes of responses for URLs without a result in the journal.
  ///   - isDelayed: whether its delay is not over.
  ///   - isCancelling: whether its cancel is not durable yet.
  ///   - wait: why it does not progress.
  ///   - shortage: why the store will not hold all of it.
  package init(
    _ record: JobRecord, running: Int = 0, unrecordedByteCount: Int64 = 0, isDelayed: Bool = false,
    isCancelling: Bool = false, wait: Wait? = nil, shortage: StoreShortage? = nil
  ) {
    let counts = record.counts
    job = record.id
    name = record.name
    request = record.options.request
    expiry = record.options.expiry
    priority = Priority(rawValue: record.options.priority) ?? .normal
    hostRatePerMinute = record.options.hostRatePerMinute
    attempts = record.options.attempts
    order = record.order
    pinPolicy = record.pinPolicy
    columns = record.columns
    notBefore = record.options.delay > .zero ? record.notBefore : nil
    total = counts.total
    done = counts.done
    damaged = counts.damaged
    failed = counts.failed
    retryable = counts.retryable
    failures = counts.failures.sorted {
      ($1.count, $0.code.rawValue) < ($0.count, $1.code.rawValue)
    }
    cancelled = counts.cancelled
    self.running = running
    queued = counts.total - counts.finished - running
    fromCache = counts.fromCache
    fetchedByteCount = counts.bytesFetched + unrecordedByteCount
    storedByteCount = counts.bytesStored
    retryCount = record.retries.round > 0 ? record.retries.round : nil
    submissionTime = record.submittedAt
    startTime = record.startedAt
    endTime = record.finishedAt
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

  /// The job without the values of header fields and without cookies, which may be secrets.
  package var withoutSecrets: ImageJob {
    var status = withoutCookies
    status.request.fetch.headers = request.fetch.headers.withoutValues
    return status
  }

  /// The job without cookies, which are many. They are known to what asks for one job alone.
  package var withoutCookies: ImageJob {
    var status = self
    status.request.fetch.cookies = .none
    return status
  }

  /// The number that `imgctl` takes as JOB. The jobs of a cluster are numbered from 1.
  public var id: UInt64 { job.rawValue }
  /// URLs with a result.
  public var finished: Int { done + failed + cancelled }
  /// How much of the list has a result, from 0 to 1.
  public var fraction: Double {
    total > 0 ? Double(finished) / Double(total) : hasEnded ? 1 : 0
  }
  /// Whether nothing changes any more, unless the job is retried.
  public var hasEnded: Bool { [.finished, .cancelled, .damaged].contains(state) }

  /// When it was accepted.
  public var submittedAt: Date { Date(submissionTime) }
  /// When its first URL started; `nil` before that.
  public var startedAt: Date? { startTime.map { Date($0) } }
  /// When it ended; `nil` before that.
  public var finishedAt: Date? { endTime.map { Date($0) } }
}

@_spi(Coding) extension ImageJob.State: FieldValue {}
@_spi(Coding) extension ImageJob.Priority: FieldValue {}

@_spi(Coding) extension ImageJob: Fielded {
  /// The members of its JSON object. Those of the request are beside the others.
  public init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    request = try ThumbnailRequest(&f, value?.request)
    expiry = try Expiry(&f, value?.expiry)
    attempts = try f.optional("attempts", value?.attempts)
    fetchedByteCount = try f.field("bytes_fetched", value?.fetchedByteCount)
    storedByteCount = try f.field("bytes_stored", value?.storedByteCount)
    cancelled = try f.field("cancelled", value?.cancelled)
    columns = try f.field("columns", value?.columns, default: [])
    damaged = try f.field("damaged", value?.damaged)
    done = try f.field("done", value?.done)
    failed = try f.field("failed", value?.failed)
    failures = try f.field("failures", value?.failures)
    endTime = try f.optional("finished_at", value?.endTime)
    fromCache = try f.field("from_cache", value?.fromCache)
    hostRatePerMinute = try f.field("host_rate_per_minute", value?.hostRatePerMinute, default: 0)
    job = try f.field("job", value?.job)
    name = try f.optional("name", value?.name)
    notBefore = try f.optional("not_before", value?.notBefore)
    order = try f.field("order", value?.order)
    pinPolicy = try f.field("pin", value?.pinPolicy)
    priority = try f.field("priority", value?.priority)
    queued = try f.field("queued", value?.queued)
    retryCount = try f.optional("retries", value?.retryCount)
    retryable = try f.field("retryable", value?.retryable)
    running = try f.field("running", value?.running)
    startTime = try f.optional("started_at", value?.startTime)
    state = try f.field("state", value?.state)
    storeShortage = try f.optional("store_shortage", value?.storeShortage)
    submissionTime = try f.field("submitted_at", value?.submissionTime)
    total = try f.field("total", value?.total)
    wait = try f.optional("wait", value?.wait)
  }
}

/// The exact counts of a job. The scheduler and the journal update them with the same code.
package struct JobCounts: Hashable, Sendable, Fielded {
  /// The lines of the list. Each duplicate counts.
  package var total = 0
  /// The lines that name files for the command, see ``ImageURL/isReadByCommand``; `nil` if the journal has not
  /// counted them.
  package var localFiles: Int?
  package var done = 0
  /// The done lines whose pictures are damaged, see ``Thumbnail/isDamaged``.
  package var damaged = 0
  package var failed = 0
  /// The failures that a retry includes by default, because they may succeed later.
  package var retryable = 0
  /// The failures by their codes, in the order of these. Fewer than ``failed`` in a job of an earlier release.
  package private(set) var failures: [ImageJobFailures] = []
  package var cancelled = 0
  /// The done lines that were cache hits.
  package var fromCache = 0
  /// Bytes of response bodies, including those of failed lines.
  package var bytesFetched: Int64 = 0
  /// Bytes stored for the lines of this job. If several lines name one picture, each line counts.
  /// Thumbnails count; originals count only if the job stores no thumbnails.
  package var bytesStored: Int64 = 0

  package init(total: Int = 0, localFiles: Int? = nil) {
    self.total = total
    self.localFiles = localFiles
  }

  /// The lines that have an outcome.
  package var finished: Int { done + failed + cancelled }

  /// Adds the outcome of one line.
  ///
  /// - Parameter keep: the job's retention policy.
  package mutating func count(_ outcome: Outcome, keep: Keep) {
    switch outcome {
    case .done(let thumbnail, let isFromCache, let bytes):
      done += 1
      if thumbnail.isDamaged { damaged += 1 }
      bytesFetched += Int64(bytes)
      if isFromCache {
        fromCache += 1
      } else if keep != .none {
        bytesStored += Int64(thumbnail.byteCount)
      }
    case .failed(let failure, let bytes):
      failed += 1
      bytesFetched += Int64(bytes)
      if failure.isRetryable { retryable += 1 }
      count(failure)
    case .cancelled:
      cancelled += 1
    }
  }

  private mutating func count(_ failure: Failure) {
    let known = failures.firstIndex {
      $0.code == failure.code && $0.isRetryable == failure.isRetryable
    }
    if let known {
      failures[known].count += 1
    } else {
      failures.append(ImageJobFailures(failure))
      failures.sort {
        ($0.code.rawValue, $0.isRetryable ? 1 : 0) < ($1.code.rawValue, $1.isRetryable ? 1 : 0)
      }
    }
  }

  /// Whether each failure has its part in ``failures``.
  package var areFailuresGrouped: Bool { failures.reduce(0) { $0 + $1.count } == failed }

  /// Takes back the failures that a retry repeats, and the cancelled lines.
  package mutating func reopen(includesFinal: Bool) {
    failed -= includesFinal ? failed : retryable
    retryable = 0
    cancelled = 0
    failures.removeAll { includesFinal || $0.isRetryable }
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    bytesFetched = try f.field("bytes_fetched", value?.bytesFetched)
    bytesStored = try f.field("bytes_stored", value?.bytesStored)
    cancelled = try f.field("cancelled", value?.cancelled)
    damaged = try f.field("damaged", value?.damaged)
    done = try f.field("done", value?.done)
    failed = try f.field("failed", value?.failed)
    failures = try f.field("failures", value?.failures, default: [])
    fromCache = try f.field("from_cache", value?.fromCache)
    // Jobs of earlier releases have none.
    localFiles = try f.optional("local_files", value?.localFiles)
    retryable = try f.field("retryable", value?.retryable)
    total = try f.field("total", value?.total)
  }
}

/// The failures of a job that have one code and are alike in whether they may succeed later.
public struct ImageJobFailures: Hashable, Sendable {
  /// What they have in common.
  public let code: ImageError.Code
  /// How many there are.
  public internal(set) var count: Int
  /// Whether they may succeed later, and a retry includes them by default.
  public let isRetryable: Bool
  /// What went wrong in the first of them, for people.
  public let message: String

  init(_ first: Failure) {
    code = first.code
    count = 1
    isRetryable = first.isRetryable
    message = first.detail
  }
}

@_spi(Coding) extension ImageJobFailures: Fielded {
  /// The members of its JSON object.
  public init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    code = try f.field("code", value?.code)
    count = try f.field("count", value?.count)
    message = try f.field("detail", value?.message)
    isRetryable = try f.field("retryable", value?.isRetryable)
  }
}

/// A line of a job's list and its outcome.
package struct LineResult: Hashable, Sendable, Fielded {
  /// The line's index in the list, from 0.
  package let index: Int
  /// The line as the client submitted it, and where it stands in the lists if that is known.
  package let line: ListLine
  /// `nil` if the line has no outcome yet.
  package let outcome: Outcome?

  package var url: String { line.text }
  package var place: LinePlace? { line.place }

  package init(index: Int, _ line: ListLine, _ outcome: Outcome?) {
    self.index = index
    self.line = line
    self.outcome = outcome
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    let columns = try f.field("columns", value?.line.columns, default: .none)
    index = try f.field("index", value?.index)
    let place = try LinePlace.optional(&f, value?.place)
    outcome = try f.optional("outcome", value?.outcome)
    line = ListLine(try f.field("url", value?.url), at: place, columns: columns)
  }

  /// The same line with another outcome.
  package func with(_ outcome: Outcome?) -> LineResult {
    LineResult(index: index, line, outcome)
  }
}

/// That a job will probably store more than the store holds.
package struct StoreShortage: Hashable, Sendable, Fielded {
  /// What all lines of the job will take: their number times the mean so far, or an assumed size before the
  /// first is stored.
  package let neededByteCount: Int64
  /// The budget of the settings.
  package let budgetByteCount: Int64
  /// The limit of the disk; `nil` if it is above the budget.
  package let diskByteCount: Int64?

  /// - Parameter store: `nil` while no worker has reported it.
  /// - Returns: `nil` if the store is large enough.
  package init?(_ job: JobRecord, store: StoreReport?, budgetByteCount: Int64) {
    guard job.isActive, job.options.keep != .none else { return nil }
    let counts = job.counts
    let lineCount = counts.total - counts.failed - counts.cancelled
    self.budgetByteCount = store?.budgetByteCount ?? budgetByteCount
    diskByteCount = store?.diskByteCount
    let (needed, isHuge) = Self.footprint(of: job).multipliedReportingOverflow(by: Int64(lineCount))
    neededByteCount = isHuge ? .max : needed
    let limit = StoreReport.pinLimit(of: diskByteCount ?? self.budgetByteCount)
    guard neededByteCount > limit else { return nil }
  }

  /// Whether the disk and not the budget is the limit.
  package var isOfDisk: Bool { diskByteCount != nil }

  /// The maximum size of the store now.
  package var effectiveByteCount: Int64 { diskByteCount ?? budgetByteCount }

  /// What the results of a line take in the mean.
  private static func footprint(of job: JobRecord) -> Int64 {
    let (options, counts) = (job.options, job.counts)
    let storedCount = counts.done - counts.fromCache
    let first =
      storedCount > 0 ? counts.bytesStored / Int64(storedCount) : assumedByteCount(of: options)
    guard options.keep.withoutOriginal == .thumbnail, options.keep != .all else {
      return StoreReport.footprint(ofRecord: first)
    }
    let area = max(options.variant.area, 1)
    return options.request.variants.reduce(0) { sum, variant in
      sum + StoreReport.footprint(ofRecord: first * variant.area / area)
    }
  }

  /// A picture of 256x256 has 7 KB in the mean as a thumbnail, some hundred KB as its original, and one KB as
  /// facts.
  private static func assumedByteCount(of options: RequestOptions) -> Int64 {
    switch options.keep {
    case .none, .facts, .allFacts, .pixelFacts: 1_024
    case .thumbnail, .auto: max(1_024, options.variant.area * 7_000 / (256 * 256))
    case .original, .undecodedOriginal, .all: 512 << 10
    }
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    budgetByteCount = try f.field("budget_bytes", value?.budgetByteCount)
    diskByteCount = try f.optional("disk_bytes", value?.diskByteCount)
    neededByteCount = try f.field("needed_bytes", value?.neededByteCount)
  }
}

extension ImageVariant {
  /// The pixels of the box. A side that is left to the proportions of the picture counts as the other one.
  fileprivate var area: Int64 {
    let (short, long) = (min(width, height), max(width, height))
    return Int64(short) * Int64(long == longestSide ? short : long)
  }
}

/// How long a job pins what it has stored, or found in the store. What is pinned is not evicted, but it
/// expires like any other.
package enum PinPolicy: String, CaseIterable, Sendable, FieldValue {
  /// Never: later results of the job may replace earlier ones.
  case none
  /// Until the job ends. If the store is full before, the job waits for room.
  case whileActive = "while_active"
  /// Until it is exported, or a user unpins or removes the job.
  case untilExported = "until_exported"
}
