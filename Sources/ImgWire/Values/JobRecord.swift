/// A job as the journal keeps it: what was asked, how far it is, and when.
package struct JobRecord: Hashable, Sendable, Codable {
  package enum State: String, Sendable, Codable {
    /// The list is still being received; a job left in this state by a crash never was accepted.
    case submitting
    /// Accepted: its URLs wait or run.
    case queued
    /// Every URL has its outcome.
    case finished
    /// Stopped by a person; what had no outcome counts as cancelled.
    case cancelled
  }

  package let id: JobID
  package let name: String?
  package let options: RequestOptions
  package var state: State
  package var counts: JobCounts
  package let submittedAt: WallTime
  package var startedAt: WallTime?
  package var finishedAt: WallTime?
  /// Every index below this one has an outcome, so that reading on after a crash need not look
  /// there.
  package var lowWater: Int

  package init(
    id: JobID, name: String? = nil, options: RequestOptions, state: State = .submitting,
    counts: JobCounts = JobCounts(), submittedAt: WallTime, startedAt: WallTime? = nil,
    finishedAt: WallTime? = nil, lowWater: Int = 0
  ) {
    self.id = id
    self.name = name
    self.options = options
    self.state = state
    self.counts = counts
    self.submittedAt = submittedAt
    self.startedAt = startedAt
    self.finishedAt = finishedAt
    self.lowWater = lowWater
  }

  /// Ends the job, `finished` or `cancelled`. Of a cancelled one, every line without an outcome
  /// counts as cancelled.
  package mutating func end(as state: State, at moment: WallTime) {
    precondition(state == .finished || state == .cancelled, "an end is one of two states")
    self.state = state
    finishedAt = moment
    if state == .cancelled { counts.cancelled += counts.total - counts.finished }
  }

  private enum CodingKeys: String, CodingKey {
    case id = "job"
    case name, options, state, counts
    case submittedAt = "submitted_at"
    case startedAt = "started_at"
    case finishedAt = "finished_at"
    case lowWater = "low_water"
  }
}
