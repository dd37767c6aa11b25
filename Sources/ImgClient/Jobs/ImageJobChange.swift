/// A change of an accepted job, see the functions of ``ImageJobs``.
///
/// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
@nonexhaustive
public enum ImageJobChange: Hashable, Sendable {
  /// Starts no more URLs, see ``ImageJobs/pause(_:)``.
  case pause
  /// Continues a paused job, see ``ImageJobs/resume(_:)``.
  case resume
  /// Ends the job, see ``ImageJobs/cancel(_:)``.
  case cancel
  /// Repeats failures, see ``ImageJobs/retry(_:includesFinal:)``.
  case retry(includesFinal: Bool)
  /// Counts for URLs that have not started, see ``ImageJobs/setPriority(_:of:)``.
  case setPriority(ImageJob.Priority)
  /// Removes the job and its results, see ``ImageJobs/remove(_:)``.
  case remove
}
