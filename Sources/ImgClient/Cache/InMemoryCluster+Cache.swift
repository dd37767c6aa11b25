import FoundationEssentials

extension InMemoryCluster: CacheTransport {
  /// Stores the image that it was given for these bytes.
  ///
  /// - Throws: ``ImageError/Code/notAnImage`` for other bytes.
  public func put(
    _ bytes: [UInt8], for request: ImageRequest
  ) async throws(ImageError) -> LoadedImage {
    _ = try ClusterRequest(request)
    return try store(uploadOf: bytes, for: request)
  }

  /// Removes the image from the store.
  public func removeImage(for request: ImageRequest) async throws(ImageError) -> Bool {
    _ = try ClusterRequest(request)
    return withStore { $0.remove(MemoryKey(request)) }
  }

  /// Removes the images of a URL from the store.
  public func removeImages(of url: String) async throws(ImageError) -> Int {
    let url = try ClusterRequest(ImageRequest(url: url)).url
    return withStore { $0.removeAll(of: url) }
  }

  /// Removes expired images from the store.
  public func removeExpired() async throws(ImageError) -> Int {
    withStore { $0.removeExpired(at: .now) }
  }

  /// What the store holds.
  public func statistics() async throws(ImageError) -> CacheStatistics {
    withStore { $0.statistics(at: .now) }
  }

  /// The image of a record, if it has not expired.
  public func image(of id: CacheRecord.ID) async throws(ImageError) -> LoadedImage? {
    withStore { $0.image(of: id, at: .now) }
  }

  /// The stored images, in the order in which they were stored.
  public func records(
    after id: CacheRecord.ID?, limit: Int
  ) async throws(ImageError) -> [CacheRecord] {
    withStore { $0.records(after: id, limit: limit) }
  }
}
