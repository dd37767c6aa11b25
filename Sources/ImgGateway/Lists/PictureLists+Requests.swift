import ImgClient

/// Pictures of lists as requests.
extension PictureLists {
  /// The thumbnail of a record as the store has it; `nil` if there is none.
  func storedImage(of id: CacheRecord.ID) async throws(ImageError) -> LoadedImage? {
    try await cache.image(of: id)
  }

  /// The request that has a picture of a list in the variant that is asked for.
  ///
  /// - Returns: `nil` if there is no such picture, or no request finds it.
  /// - Throws: the failure of a line that has failed; ``ImageError/Code/unknownJob``.
  func request(for query: PictureQuery) async throws(ImageError) -> ImageRequest? {
    guard var request = try await listedRequest(of: query.id) else { return nil }
    request.variant = query.variant(of: request.variant)
    return request
  }

  private func listedRequest(of id: PictureID) async throws(ImageError) -> ImageRequest? {
    switch id {
    case .line(let job, let index):
      guard let line = try await line(index, of: job) else { return nil }
      if let error = line.result.error { throw error }
      return JobLineRequest(line.job).request(of: line.result.url)
    case .record(let id):
      return try await record(id).map { ImageRequest(url: $0.url) }
    }
  }

  /// A line of a job; `nil` if the job has fewer.
  func line(
    _ index: Int, of id: ImageJob.ID
  ) async throws(ImageError) -> (job: ImageJob, result: ImageJobResult)? {
    let job = try await transport.job(id)
    guard index < job.total,
      let result = try await transport.jobResults(of: id, from: index, failedOnly: false).results
        .first, result.index == index
    else { return nil }
    return (job, result)
  }

  /// A record of the store; `nil` if there is none of that id.
  func record(_ id: CacheRecord.ID) async throws(ImageError) -> CacheRecord? {
    let before = RecordOrder.id(before: id)
    let record = try await transport.records(after: before, limit: 1).first
    return record?.id == id ? record : nil
  }
}
