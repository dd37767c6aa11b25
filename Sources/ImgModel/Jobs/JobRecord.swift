/// A job as the journal keeps it: what was asked, how far it is, and when.
package struct JobRecord: Hashable, Sendable, Codable {
  package enum State: String, Sendable, Codable {
    /// The list is still being received; a job left in this state by a crash never was accepted.
    case submitting
    /// Accepted: its URLs wait or run.
    case queued
    /// Accepted: its URLs wait until a person lets them go on.
    case paused
    /// Every URL has its outcome.
    case finished
    /// Stopped by a person; what had no outcome counts as cancelled.
    case cancelled
    /// The journal's record of the job is damaged. Only its number is known, and all that can be done
    /// is to remove it.
    case damaged
  }

  package let id: JobID
  package let name: String?
  /// The priority in them is the present one.
  package private(set) var options: RequestOptions
  package let order: LineOrder
  package var state: State
  package var counts: JobCounts
  package var retries: JobRetries
  package let submittedAt: WallTime
  package var startedAt: WallTime?
  package var finishedAt: WallTime?
  /// Every index below this one has an outcome that stands, so that reading on after a crash need
  /// not look there.
  package var lowWater: Int
  /// Whether the values of its headers are lost, so that its lines cannot be fetched.
  package var lacksHeaders = false

  package init(
    id: JobID, name: String? = nil, options: RequestOptions,
    order: LineOrder = .firstInFirstOut, state: State = .submitting,
    counts: JobCounts = JobCounts(), retries: JobRetries = JobRetries(), submittedAt: WallTime,
    startedAt: WallTime? = nil, finishedAt: WallTime? = nil, lowWater: Int = 0
  ) {
    self.id = id
    self.name = name
    self.options = options
    self.order = order
    self.state = state
    self.counts = counts
    self.retries = retries
    self.submittedAt = submittedAt
    self.startedAt = startedAt
    self.finishedAt = finishedAt
    self.lowWater = lowWater
  }

  /// What stands for a job whose record is damaged.
  package static func damaged(_ id: JobID) -> JobRecord {
    JobRecord(
      id: id, options: RequestOptions(variant: .standard), state: .damaged,
      submittedAt: WallTime(rawValue: 0))
  }

  /// What its requests send to origins beside what every request says.
  package var headers: HeaderFields {
    get { options.fetch.headers }
    set { options.fetch.headers = newValue }
  }

  /// Whether it was accepted and has not ended.
  package var isActive: Bool { state == .queued || state == .paused }

  /// Before this moment nothing of the job is looked up or fetched.
  package var notBefore: WallTime {
    submittedAt.advanced(byMilliseconds: options.delayMilliseconds)
  }

  private enum CodingKeys: String, CodingKey {
    case id = "job"
    case name, options, order, state, counts, retries
    case submittedAt = "submitted_at"
    case startedAt = "started_at"
    case finishedAt = "finished_at"
    case lowWater = "low_water"
  }
}

extension JobRecord {
  /// Changes the job as a person asked for: the one place that knows which transitions are legal.
  ///
  ///     queued ⇄ paused          pause, resume
  ///     queued, paused → cancelled   cancel
  ///     finished, cancelled → queued   retry
  ///     finished, cancelled, damaged → gone   remove
  ///
  /// - Throws: ``JobChangeRefusal``; then nothing has changed.
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
    case (.remove, .finished), (.remove, .cancelled), (.remove, .damaged):
      break
    default:
      throw refusal(of: change, at: moment)
    }
  }

  /// One more of its lines has its outcome.
  package mutating func count(_ outcome: Outcome) {
    counts.count(outcome, keep: options.keep)
  }

  /// Every line has its outcome.
  package mutating func finish(at moment: WallTime) {
    state = .finished
    finishedAt = moment
  }

  private mutating func reopen(includesFinal: Bool) throws(JobChangeRefusal) {
    let reopenedCount = includesFinal ? counts.failed : counts.retryable
    guard reopenedCount + counts.cancelled > 0 else {
      throw JobChangeRefusal(
        description: counts.failed == 0
          ? "nothing of job \(id) has failed"
          : "no failure of job \(id) may pass by itself; --all tries all \(counts.failed) again")
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
    // As people see it: a job that is queued may be running, or wait for its delay to be over.
    let seen = JobStatus(self, isDelayed: moment < notBefore).state.rawValue
    let state = "job \(id) is \(isActive ? seen : state.rawValue)"
    let reason =
      switch change {
      case _ where self.state == .damaged: "; it can only be removed"
      case .pause where self.state == .paused: " already"
      case .resume where isActive: "; only a paused job is resumed"
      case .pause, .resume, .prioritise: "; nothing of it waits"
      case .cancel: "; nothing is left to cancel"
      case .retry: "; wait until it has ended, or cancel it first"
      case .remove: "; cancel it first"
      }
    return JobChangeRefusal(description: state + reason)
  }
}
