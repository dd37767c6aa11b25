import ImgClient

/// Loads pictures by the cluster, as many as a limit permits.
struct PictureLoader: Sendable {
  let client: ImageClient
  let limit: LoadLimit

  /// - Parameter isNew: whether the caller has not found the picture in the store.
  /// - Returns: `nil` if there is no room to load a picture of its host.
  func image(
    for request: ImageRequest, isNew: Bool = false
  ) async throws(ImageError) -> LoadedImage? {
    try await limit.load(of: request.url) { () async throws(ImageError) in
      isNew
        ? try await client.newImage(for: request) : try await client.image(for: request)
    }
  }
}
