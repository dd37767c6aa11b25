/// Jobs whose URLs are loaded as any other.
extension InMemoryCluster: JobTransport {
  /// Submits a list. It is read on the thread of the task.
  public func submitJob(
    _ request: ImageJobRequest, urls: some Sequence<String> & Sendable
  ) async throws(ImageError) -> ImageJob.ID {
    var list: [String] = []
    for url in urls {
      guard !Task.isCancelled else { throw .cancelled(nil) }
      list.append(url)
    }
    guard !list.isEmpty else { throw .emptyList }
    return try await jobs.submit(request, list) { [weak self] request in
      do throws(ImageError) {
        guard let self else { throw .cancelled(request.url) }
        return .success(try await self.loadImage(for: request, onUpdate: nil))
      } catch {
        return .failure(error)
      }
    }
  }

  /// A job as it stands now.
  public func job(_ id: ImageJob.ID) async throws(ImageError) -> ImageJob {
    try await jobs.job(id)
  }

  /// A page of up to 500 jobs.
  public func jobs(
    before id: ImageJob.ID?
  ) async throws(ImageError) -> (jobs: [ImageJob], hasMore: Bool) {
    await jobs.page(before: id)
  }

  /// Watches a job until it has ended.
  public func watchJob(
    _ id: ImageJob.ID, onUpdate: @escaping @Sendable (ImageJob) -> Void
  ) async throws(ImageError) {
    try await jobs.watch(id, onUpdate)
  }

  /// A page of up to 500 URLs.
  public func jobResults(
    of id: ImageJob.ID, from index: Int, failedOnly: Bool
  ) async throws(ImageError) -> (results: [ImageJobResult], next: Int?) {
    try await jobs.results(of: id, from: index, failedOnly: failedOnly)
  }

  /// Changes a job.
  public func changeJob(
    _ id: ImageJob.ID, _ change: ImageJobChange
  ) async throws(ImageError) -> ImageJob {
    try await jobs.change(id, change)
  }
}
