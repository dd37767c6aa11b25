import ImgClient
import ImgModel

/// Loads pictures by the cluster, as many as a limit permits.
struct PictureLoader: Sendable {
  let client: ImageClient
  let limit: LoadLimit

  /// - Returns: `nil` if there is no room to load a picture of its host.
  func image(for request: ImageRequest) async throws(ImageError) -> LoadedImage? {
    // What is no URL needs no host to fail.
    let host = (try? ImageURL(line: request.url))?.host ?? ""
    return try await limit.load(from: host) { () async throws(ImageError) in
      try await client.image(for: request)
    }
  }
}
