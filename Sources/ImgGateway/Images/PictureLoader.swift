import ImgClient

/// Loads pictures by the cluster, as many as a limit permits.
struct PictureLoader: Sendable {
  let client: ImageClient
  let limit: LoadLimit

  /// - Returns: `nil` if there is no room to load a picture of its host.
  func image(for request: ImageRequest) async throws(ImageError) -> LoadedImage? {
    try await limit.load(of: request.url) { () async throws(ImageError) in
      try await client.image(for: request)
    }
  }

  /// As ``image(for:)``, for a picture that the caller has not found in the store.
  func newImage(for request: ImageRequest) async throws(ImageError) -> LoadedImage? {
    try await limit.load(of: request.url) { () async throws(ImageError) in
      try await client.newImage(for: request)
    }
  }
}
