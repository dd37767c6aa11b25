/// A change of an accepted job, see the functions of ``ImageJobs``.
public enum ImageJobChange: Hashable, Sendable {
  case pause
  case resume
  case cancel
  case retry(includesFinal: Bool)
  case setPriority(ImageJob.Priority)
  case remove
}
