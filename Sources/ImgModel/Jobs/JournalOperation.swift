/// One write to the job journal. The journal applies operations in order. It commits them in
/// groups; each group is one durable transaction.
package enum JournalOperation: Hashable, Sendable {
  /// Creates a job in the state `submitting`.
  case createJob(JobRecord)
  /// Appends lines of the list, as the client sent them.
  case appendURLs(JobID, [String])
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
  case change(JobID, JobChange, at: WallTime)
}
