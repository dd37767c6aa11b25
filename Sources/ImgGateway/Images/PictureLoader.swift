import ImgClient
import ImgModel

/// Loads pictures by the cluster, as many as a limit permits, and makes them ready to be sent.
struct PictureLoader: Sendable {
  enum Outcome {
    case image(PreparedImage)
    /// Its bytes have no room in memory.
    case noRoom
    /// It would have to be loaded, but there is no room to load a picture of its host, or no time.
    case noLoad
  }

  let client: ImageClient
  let images: PreparedImages
  let limit: LoadLimit

  /// The picture for a request, which is loaded if it is not stored.
  ///
  /// - Parameter timeout: of the load.
  func image(
    for request: ImageRequest, within timeout: Duration
  ) async throws(ImageError) -> Outcome {
    try await image(for: request, found: images.find(request, at: .now), within: timeout)
  }

  /// The same for a caller that has looked into the store.
  func image(
    for request: ImageRequest, found: PreparedImages.Found, within timeout: Duration
  ) async throws(ImageError) -> Outcome {
    switch found {
    case .hit(let entry): return .image(entry.image)
    case .noRoom: return .noRoom
    case .large(let facts):
      if let outcome = try await copy(facts, for: request) { return outcome }
    case .nothing: break
    }
    return try await newImage(for: request, within: timeout)
  }

  private func newImage(
    for request: ImageRequest, within timeout: Duration
  ) async throws(ImageError) -> Outcome {
    let deadline = ContinuousClock.now + timeout
    let maximum = PreparedImages.smallMaximum
    guard let loaded = try await load(request, bytesUpTo: maximum, within: timeout) else {
      return .noLoad
    }
    guard loaded.bytes.isEmpty else { return await add(loaded, for: request) }
    // Those who wait for a large one share a copy if memory keeps it.
    if let outcome = try await copy(loaded, for: request) { return outcome }
    // It was evicted before it was copied.
    let remaining = deadline - .now
    guard remaining > .zero else { throw .timedOut(request.url, after: timeout) }
    guard let whole = try await load(request, bytesUpTo: .max, within: remaining) else {
      return .noLoad
    }
    return await add(whole, for: request)
  }

  /// - Returns: `nil` without a load.
  private func load(
    _ request: ImageRequest, bytesUpTo maximumByteCount: Int, within timeout: Duration
  ) async throws(ImageError) -> LoadedImage? {
    guard timeout > .zero else { return nil }
    var request = request
    request.timeout = timeout
    return try await limit.load(of: request.url) { [request] () async throws(ImageError) in
      try await client.newImage(for: request, bytesUpTo: maximumByteCount)
    }
  }

  /// - Returns: `nil` if the image was removed from the store meanwhile.
  private func copy(
    _ image: LoadedImage, for request: ImageRequest
  ) async throws(ImageError) -> Outcome? {
    switch try await images.copy(image, for: request) {
    case .hit(let entry): .image(entry.image.from(image.origin))
    case .noRoom: .noRoom
    case .large, .nothing: nil
    }
  }

  private func add(_ image: LoadedImage, for request: ImageRequest) async -> Outcome {
    await images.add(image, for: request).map { .image($0) } ?? .noRoom
  }
}
