/// A job in the journal: its options, its progress and its times.
package struct JobRecord: Hashable, Sendable, Codable {
  package enum State: String, Sendable, Codable {
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
  /// Of a job of an earlier release, `nil`.
  private var givenPinPolicy: PinPolicy?
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
    order: LineOrder = .firstInFirstOut, pinPolicy: PinPolicy = .none, state: State = .submitting,
    counts: JobCounts = JobCounts(), retries: JobRetries = JobRetries(), submittedAt: WallTime,
    startedAt: WallTime? = nil, finishedAt: WallTime? = nil, lowWater: Int = 0
  ) {
    self.id = id
    self.name = name
    self.options = options
    self.order = order
    givenPinPolicy = pinPolicy
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

  /// How long it pins what it has stored.
  package var pinPolicy: PinPolicy { givenPinPolicy ?? .none }

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

  private enum CodingKeys: String, CodingKey {
    case id = "job"
    case name, options, order, state, counts, retries
    case givenPinPolicy = "pin"
    case submittedAt = "submitted_at"
    case startedAt = "started_at"
    case finishedAt = "finished_at"
    case lowWater = "low_water"
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
    _ change: JobChange, at moment: WallTime
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
    case (.prioritise(let priority), .queued), (.prioritise(let priority), .paused):
      options.priority = priority
    case (.retry(let includesFinal), .finished), (.retry(let includesFinal), .cancelled):
      try reopen(includesFinal: includesFinal)
    case (.unpin, _) where holdsPins:
      givenPinPolicy = PinPolicy.none
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
    counts.failed -= reopenedCount
    counts.retryable = 0
    counts.cancelled = 0
    retries.add(includesFinal: includesFinal)
    state = .queued
    startedAt = nil
    finishedAt = nil
    lowWater = 0
  }

  private func refusal(of change: JobChange, at moment: WallTime) -> JobChangeRefusal {
    // People see a queued job as scheduled, queued or running.
    let seen = JobStatus(self, isDelayed: moment < notBefore).state.rawValue
    let state = "job \(id) is \(isActive ? seen : state.rawValue)"
    let reason =
      switch change {
      case _ where self.state == .damaged: "; it can only be removed"
      case .pause where self.state == .paused: " already"
      case .resume where isActive: "; only a paused job can be resumed"
      case .pause, .resume, .prioritise: "; it has no waiting URLs"
      case .cancel: "; nothing is left to cancel"
      case .retry: "; wait until it ends, or cancel it first"
      case .unpin: " and pins nothing"
      case .remove: "; cancel it first"
      }
    return JobChangeRefusal(description: state + reason)
  }
}
