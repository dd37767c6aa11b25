/// What serves ``ImageJobs``: an ``ImageTransport`` that has jobs, too.
///
/// Each function ends early with ``ImageError/Code/cancelled`` when its task is cancelled.
public protocol JobTransport: ImageTransport {
  /// Submits a list as one job.
  ///
  /// - Parameter urls: is read while the list is sent, possibly on another thread. It may block.
  /// - Returns: the number of the job, once the job is durable.
  func submitJob(
    _ request: ImageJobRequest, urls: some Sequence<String> & Sendable
  ) async throws(ImageError) -> ImageJob.ID

  /// A job as it stands now.
  func job(_ id: ImageJob.ID) async throws(ImageError) -> ImageJob

  /// A page of jobs, newest first.
  ///
  /// - Parameter id: the page begins after this job; `nil` for the newest jobs.
  func jobs(
    before id: ImageJob.ID?
  ) async throws(ImageError) -> (jobs: [ImageJob], hasMore: Bool)

  /// Watches a job until it has ended.
  ///
  /// - Parameter onUpdate: is given the job at once and after changes, in order, from any thread; the last
  ///   time with its end. It must not block.
  func watchJob(
    _ id: ImageJob.ID, onUpdate: @escaping @Sendable (ImageJob) -> Void
  ) async throws(ImageError)

  /// A page of results, in the order of the list.
  ///
  /// - Parameter index: of the first URL of the page.
  /// - Returns: the page, and the index of the next one; `nil` at the end.
  func jobResults(
    of id: ImageJob.ID, from index: Int, failedOnly: Bool
  ) async throws(ImageError) -> (results: [ImageJobResult], next: Int?)

  /// Changes a job.
  ///
  /// - Returns: the job after the change, or for a removal before it; once the change is durable.
  func changeJob(
    _ id: ImageJob.ID, _ change: ImageJobChange
  ) async throws(ImageError) -> ImageJob
}
