/// One change of the job journal. The journal applies them in order and in groups, each group one
/// durable transaction.
package enum JournalOperation: Hashable, Sendable {
  /// A submission begins; the record's state is `submitting`.
  case createJob(JobRecord)
  /// The next lines of a submission, as they were written.
  case appendURLs(JobID, [String])
  /// The submission is complete: from now on the job survives anything.
  case seal(JobID)
  /// The submission was abandoned: everything of it is removed.
  case discard(JobID)
  /// The first URL of the job left the queue.
  case start(JobID, at: WallTime)
  /// The outcome of one line; a line that has one keeps it and is not counted twice.
  case record(JobID, index: Int, Outcome)
  /// Every line has its outcome.
  case finish(JobID, at: WallTime)
  /// What a person asked for; one that comes too late changes nothing.
  case change(JobID, JobChange, at: WallTime)
}
