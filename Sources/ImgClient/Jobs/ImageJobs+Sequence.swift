/// All jobs, newest first. They are read page by page.
extension ImageJobs: AsyncSequence {
  /// Begins with the newest job.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(jobs: self)
  }

  /// A walk through the jobs.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let jobs: ImageJobs
    private var page: ArraySlice<ImageJob> = []
    private var last: ImageJob.ID?
    private var hasMore = true

    fileprivate init(jobs: ImageJobs) {
      self.jobs = jobs
    }

    /// The next older job; `nil` after the oldest one. Asks the coordinator for some hundred at a time.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ImageError) -> ImageJob? {
      if page.isEmpty, hasMore {
        let next = try await jobs.served().jobs(before: last)
        page = next.jobs[...]
        hasMore = next.hasMore && !next.jobs.isEmpty
      }
      guard let job = page.popFirst() else { return nil }
      last = job.id
      return job
    }
  }
}
