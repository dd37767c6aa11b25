/// A job in the journal: its options, its progress and its times.
package struct JobRecord: Hashable, Sendable, Fielded {
  package enum State: String, Sendable, FieldValue {
    /// The coordinator is receiving the list. A job that a crash leaves in this state was never
    /// accepted.
    case submitting
    /// Accepted. Its URLs wait or are in progress.
    case queued
    /// Accepted. Its URLs wait until a user resumes the job.
    case paused
    /// Every URL has an outcome.
    case finished
    /// A user stopped the job. URLs without an outcome count as cancelled.
    case cancelled
    /// The job's journal record is damaged. Only its number is known, and a user can only remove
    /// the job.
    case damaged
  }

  package let id: JobID
  package let name: String?
  /// The options of the submission, with the current priority.
  package private(set) var options: RequestOptions
  package let order: LineOrder
  /// How long it pins what it has stored.
  package private(set) var pinPolicy: PinPolicy
  /// Whether its lines may name files that the command reads, see ``ImageURL/isReadByCommand``.
  package let namesFiles: Bool
  /// The names of the columns that its lines have beside their URLs, see ``LineColumns``.
  package let columns: [String]
  package var state: State
  package var counts: JobCounts
  package var retries: JobRetries
  package let submittedAt: WallTime
  package var startedAt: WallTime?
  package var finishedAt: WallTime?
  /// Every line below this index has a final outcome, so a restarted coordinator reads from here.
  package var lowWater: Int
  /// Whether the values of the job's headers, or its cookies, are lost. Its lines can then not be fetched.
  package var lacksHeaders = false

  package init(
    id: JobID, name: String? = nil, options: RequestOptions,
    order: LineOrder = .firstInFirstOut, pinPolicy: PinPolicy = .none, namesFiles: Bool = false,
    columns: [String] = [], state: State = .submitting,
    counts: JobCounts = JobCounts(), retries: JobRetries = JobRetries(), submittedAt: WallTime,
    startedAt: WallTime? = nil, finishedAt: WallTime? = nil, lowWater: Int = 0
  ) {
    self.id = id
    self.name = name
    self.options = options
    self.order = order
    self.pinPolicy = pinPolicy
    self.namesFiles = namesFiles
    self.columns = columns
    self.state = state
    self.counts = counts
    self.retries = retries
    self.submittedAt = submittedAt
    self.startedAt = startedAt
    self.finishedAt = finishedAt
    self.lowWater = lowWater
  }

  /// The record for a job whose journal record is damaged.
  package static func damaged(_ id: JobID) -> JobRecord {
    JobRecord(
      id: id, options: RequestOptions(variant: .standard), state: .damaged,
      submittedAt: WallTime(rawValue: 0))
  }

  /// What the job's requests send that may be secret.
  package var secrets: RequestSecrets {
    get { options.fetch.secrets }
    set { options.fetch.secrets = newValue }
  }

  /// Whether it pins what it has stored now.
  package var holdsPins: Bool {
    switch pinPolicy {
    case .none: false
    case .whileActive: isActive
    case .untilExported: state != .damaged
    }
  }

  /// Whether the job is accepted and has not ended.
  package var isActive: Bool { state == .queued || state == .paused }

  /// The end of the job's delay. No URL of the job starts before it.
  package var notBefore: WallTime {
    submittedAt.advanced(by: options.delay)
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    columns = try f.field("columns", value?.columns, default: [])
    counts = try f.field("counts", value?.counts)
    finishedAt = try f.optional("finished_at", value?.finishedAt)
    id = try f.field("job", value?.id)
    lowWater = try f.field("low_water", value?.lowWater)
    namesFiles = try f.field("names_files", value?.namesFiles, default: false)
    name = try f.optional("name", value?.name)
    options = try f.field("options", value?.options)
    order = try f.field("order", value?.order)
    // Jobs of earlier releases have none.
    pinPolicy = try f.optional("pin", value?.pinPolicy) ?? .none
    retries = try f.field("retries", value?.retries)
    startedAt = try f.optional("started_at", value?.startedAt)
    state = try f.field("state", value?.state)
    submittedAt = try f.field("submitted_at", value?.submittedAt)
  }
}

extension JobRecord {
  /// Applies a user's change. This function alone defines the legal transitions:
  ///
  ///     queued ⇄ paused                          pause, resume
  ///     queued, paused → cancelled               cancel
  ///     finished, cancelled → queued             retry
  ///     every state with pins → same             unpin
  ///     finished, cancelled, damaged → removed   remove
  ///
  /// - Throws: ``JobChangeRefusal``; the record is then unchanged.
  package mutating func apply(
    _ change: ImageJobChange, at moment: WallTime
  ) throws(JobChangeRefusal) {
    switch (change, state) {
    case (.pause, .queued):
      state = .paused
    case (.resume, .paused):
      state = .queued
    case (.cancel, .queued), (.cancel, .paused):
      counts.cancelled += counts.total - counts.finished
      state = .cancelled
      finishedAt = moment
    case (.setPriority(let priority), .queued), (.setPriority(let priority), .paused):
      options.priority = priority.rawValue
    case (.retry(let includesFinal), .finished), (.retry(let includesFinal), .cancelled):
      try reopen(includesFinal: includesFinal)
    case (.unpin, _) where holdsPins:
      pinPolicy = .none
    case (.remove, .finished), (.remove, .cancelled), (.remove, .damaged):
      break
    default:
      throw refusal(of: change, at: moment)
    }
  }

  /// Counts the outcome of one line.
  package mutating func count(_ outcome: Outcome) {
    counts.count(outcome, keep: options.keep)
  }

  /// Ends the job, because every line has an outcome.
  package mutating func finish(at moment: WallTime) {
    state = .finished
    finishedAt = moment
  }

  private mutating func reopen(includesFinal: Bool) throws(JobChangeRefusal) {
    let reopenedCount = includesFinal ? counts.failed : counts.retryable
    guard reopenedCount + counts.cancelled > 0 else {
      throw JobChangeRefusal(
        description: counts.failed == 0
          ? "job \(id) has no failures"
          : "job \(id) has no retryable failures; --all retries all \(counts.failed)")
    }
    counts.reopen(includesFinal: includesFinal)
    retries.add(includesFinal: includesFinal)
    state = .queued
    startedAt = nil
    finishedAt = nil
    lowWater = 0
  }

  private func refusal(of change: ImageJobChange, at moment: WallTime) -> JobChangeRefusal {
    // People see a queued job as scheduled, queued or running.
    let seen = ImageJob(self, isDelayed: moment < notBefore).state.rawValue
    let state = "job \(id) is \(isActive ? seen : state.rawValue)"
    let reason =
      switch change {
      case _ where self.state == .damaged: "; it can only be removed"
      case .pause where self.state == .paused: " already"
      case .resume where isActive: "; only a paused job can be resumed"
      case .resume where self.state == .cancelled && counts.cancelled > 0:
        "; imgctl retry \(id) continues its \(counts.cancelled) cancelled URLs"
      case .resume where self.state == .finished && counts.failed > 0:
        "; imgctl retry \(id) --all repeats its \(counts.failed) failures"
      case .pause, .resume, .setPriority: "; it has no waiting URLs"
      case .cancel: "; nothing is left to cancel"
      case .retry: "; wait until it ends, or cancel it first"
      case .unpin: " and pins nothing"
      case .remove: "; cancel it first"
      }
    return JobChangeRefusal(description: state + reason)
  }
}

/// The failures of a job that a retry reopened.
///
/// Each retry starts a new round, and each recorded outcome has its round. A failure is open if a
/// retry that includes it is newer than its round. So a retry writes one record, however many lines
/// it reopens.
package struct JobRetries: Hashable, Sendable, Fielded {
  /// The current round; 0 before the first retry.
  package private(set) var round = 0
  /// Retryable failures of rounds before this one are open.
  private var retryableBefore = 0
  /// All failures of rounds before this one are open.
  private var everyBefore = 0

  package init() {}

  /// Starts a new round.
  package mutating func add(includesFinal: Bool) {
    round += 1
    retryableBefore = round
    if includesFinal { everyBefore = round }
  }

  /// Whether the last retry included every failure.
  package var includesFinal: Bool { round > 0 && everyBefore == round }

  /// Whether a retry reopened a failure of this round.
  package func isOpen(failureOf round: Int, isRetryable: Bool) -> Bool {
    round < (isRetryable ? retryableBefore : everyBefore)
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    everyBefore = try f.field("every_before", value?.everyBefore)
    retryableBefore = try f.field("retryable_before", value?.retryableBefore)
    round = try f.field("round", value?.round)
  }
}

/// One write to the job journal. The journal applies operations in order. It commits them in
/// groups; each group is one durable transaction.
package enum JournalOperation: Hashable, Sendable {
  /// Creates a job in the state `submitting`. Boxed: the others are much smaller.
  indirect case createJob(JobRecord)
  /// Appends lines of the list, as the client sent them.
  case appendURLs(JobID, ListLines)
  /// Completes the submission. The job is accepted and durable from here on.
  case seal(JobID)
  /// Deletes an incomplete submission.
  case discard(JobID)
  /// Records the start of the job's first URL.
  case start(JobID, at: WallTime)
  /// Records the outcome of one line. If the line has an outcome already, that one stays.
  case record(JobID, index: Int, Outcome)
  /// Ends a job whose lines all have outcomes.
  case finish(JobID, at: WallTime)
  /// Applies a user's change. Has no effect if the change is no longer legal.
  case change(JobID, ImageJobChange, at: WallTime)
}

// JobRecord.apply(_:at:) defines when each change is legal and what it does.

/// A change of an accepted job.
///
/// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
@nonexhaustive
public enum ImageJobChange: Hashable, Sendable {
  /// Starts no more URLs of the job. URLs in progress finish.
  case pause
  /// Continues a paused job.
  case resume
  /// Ends the job. URLs without an outcome count as cancelled.
  case cancel
  /// Retries the retryable failures, or every failure if `includesFinal` is set. In a cancelled
  /// job, also continues with the cancelled URLs.
  case retry(includesFinal: Bool)
  /// Counts for URLs that have not started.
  case setPriority(ImageJob.Priority)
  /// Ends the pins of the job: what it has stored may be evicted.
  case unpin
  /// Removes the job, its list and its results. Its thumbnails stay in the store.
  case remove
}

/// The reason why the coordinator refuses a change of a job.
package struct JobChangeRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// A sentence for people. It tells them what to do.
  package let description: String

  package init(description: String) {
    self.description = description
  }
}

@_spi(Coding) extension ImageJobChange: Fielded {
  private enum Name: String, FieldValue {
    case pause, resume, cancel, retry, prioritise, unpin, remove
  }

  /// The members of its JSON object.
  public init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    let includesFinal = try f.optional("all", value?.includesFinal)
    let name = try f.field("change", value?.name)
    let priority = try f.optional("priority", value?.priority)
    switch name {
    case .pause: self = .pause
    case .resume: self = .resume
    case .cancel: self = .cancel
    case .retry:
      guard let includesFinal else { throw f.missing("all") }
      self = .retry(includesFinal: includesFinal)
    case .prioritise:
      guard let priority else { throw f.missing("priority") }
      self = .setPriority(priority)
    case .unpin: self = .unpin
    case .remove: self = .remove
    }
  }

  private var name: Name {
    switch self {
    case .pause: .pause
    case .resume: .resume
    case .cancel: .cancel
    case .retry: .retry
    case .setPriority: .prioritise
    case .unpin: .unpin
    case .remove: .remove
    }
  }

  private var includesFinal: Bool? {
    if case .retry(let includesFinal) = self { includesFinal } else { nil }
  }

  private var priority: ImageJob.Priority? {
    if case .setPriority(let priority) = self { priority } else { nil }
  }
}

/// The order in which the lines of a list start. One whose host has to wait does not delay later ones.
///
/// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
@nonexhaustive
public enum LineOrder: String, CaseIterable, Hashable, Sendable, Codable {
  /// The order of the list.
  case firstInFirstOut = "fifo"
  /// The last line first: for a list that grows at its end.
  case lastInFirstOut = "lifo"
}

@_spi(Coding) extension LineOrder: FieldValue {}

/// A position is the index of a line in starting order. Each function is its own inverse.
extension LineOrder {
  /// The line at a position of a list of `total` lines, or the position of a line.
  package func line(at position: Int, of total: Int) -> Int {
    switch self {
    case .firstInFirstOut: position
    case .lastInFirstOut: total - 1 - position
    }
  }

  /// The lines at a range of positions, or the positions of a range of lines.
  package func lines(at positions: Range<Int>, of total: Int) -> Range<Int> {
    switch self {
    case .firstInFirstOut: positions
    case .lastInFirstOut: total - positions.upperBound..<total - positions.lowerBound
    }
  }
}
