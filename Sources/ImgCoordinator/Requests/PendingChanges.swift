import ImgModel

/// Changes of jobs that are not durable yet. A job takes one at a time.
struct PendingChanges {
  struct Change {
    /// The client that asked for it; `nil` when the coordinator removes an old job.
    let requester: Requester?
    /// The job before the change.
    let status: JobStatus
  }

  private var changes: [JobID: Change] = [:]

  func contains(_ job: JobID) -> Bool { changes[job] != nil }

  mutating func add(_ change: Change, of job: JobID) {
    precondition(changes[job] == nil, "a job takes one change at a time")
    changes[job] = change
  }

  /// - Returns: `nil` when no change of the job was pending.
  mutating func remove(_ job: JobID) -> Change? {
    changes.removeValue(forKey: job)
  }
}
