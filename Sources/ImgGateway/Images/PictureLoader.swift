import ImgClient

/// Loads pictures by the cluster, as many as a limit permits, and makes them ready to be sent.
struct PictureLoader: Sendable {
  enum Outcome {
    case image(PreparedImage)
    /// Its bytes have no room in memory.
    case noRoom
    /// It has to be loaded, but there is no time, or there is no room to load a picture of its host.
    case noLoad
  }

  let client: ImageClient
  let images: PreparedImages
  let limit: LoadLimit

  /// The picture for a request, which is loaded if it is not stored.
  ///
  /// - Parameters:
  ///   - found: by ``PreparedImages/find(_:at:)``.
  ///   - timeout: of the load.
  func image(
    for request: ImageRequest, found: PreparedImages.Found, within timeout: Duration
  ) async throws(ImageError) -> Outcome {
    switch found {
    case .hit(let entry): return .image(entry.image)
    case .noRoom: return .noRoom
    case .large:
      if let outcome = try await largeImage(for: request) { return outcome }
    case .nothing: break
    }
    return try await newImage(for: request, within: timeout)
  }

  /// A large picture that is stored. Waits while it is copied.
  ///
  /// - Returns: `nil` if it was removed meanwhile.
  private func largeImage(for request: ImageRequest) async throws(ImageError) -> Outcome? {
    switch try await images.findLarge(request) {
    case .hit(let entry): .image(entry.image)
    case .noRoom: .noRoom
    case .large, .nothing: nil
    }
  }

  private func newImage(
    for request: ImageRequest, within timeout: Duration
  ) async throws(ImageError) -> Outcome {
    let deadline = ContinuousClock.now + timeout
    guard
      let image = try await load(request, bytesUpTo: PreparedImages.smallMaximum, within: timeout)
    else { return .noLoad }
    guard image.bytes.isEmpty else { return await prepare(image, for: request) }
    // All requests that wait for a large one share a copy of it.
    switch try await largeImage(for: request) {
    case .image(let copied): return .image(copied.from(image.origin))
    case .some(let outcome): return outcome
    case nil: break
    }
    // One that expires at once is no longer found. Who has waited for it gets it all the same.
    guard let image = try await load(request, bytesUpTo: .max, within: deadline - .now) else {
      return .noLoad
    }
    return await prepare(image, for: request)
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

  private func prepare(_ image: LoadedImage, for request: ImageRequest) async -> Outcome {
    await images.prepare(image, for: request).map { .image($0) } ?? .noRoom
  }
}
