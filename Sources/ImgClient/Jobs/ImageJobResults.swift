/// The URLs of a job with their results, see ``ImageJobs/results(of:failedOnly:)``.
public struct ImageJobResults: AsyncSequence, Sendable {
  private let id: ImageJob.ID
  private let failedOnly: Bool
  private let jobs: ImageJobs

  init(of id: ImageJob.ID, failedOnly: Bool, in jobs: ImageJobs) {
    self.id = id
    self.failedOnly = failedOnly
    self.jobs = jobs
  }

  /// Begins with the first URL.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(results: self)
  }

  /// A walk through the list.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let results: ImageJobResults
    private var page: ArraySlice<ImageJobResult> = []
    private var nextIndex: Int? = 0

    fileprivate init(results: ImageJobResults) {
      self.results = results
    }

    /// The next URL; `nil` after the last one.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ImageError) -> ImageJobResult? {
      while page.isEmpty, let index = nextIndex {
        let next = try await results.page(from: index)
        page = next.results[...]
        nextIndex = next.next
      }
      return page.popFirst()
    }
  }

  private func page(
    from index: Int
  ) async throws(ImageError) -> (results: [ImageJobResult], next: Int?) {
    try await jobs.served().jobResults(of: id, from: index, failedOnly: failedOnly)
  }
}
