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
    case .large, .nothing: break
    }
    guard timeout > .zero else { return .noLoad }
    let deadline = ContinuousClock.now + timeout
    // Also while it waits for the copies of others.
    return try await Deadline.value(within: timeout) { () async throws(ImageError) in
      if case .large(let facts) = found, let outcome = try await copy(facts, for: request) {
        return outcome
      }
      return try await newImage(for: request, until: deadline)
    }
  }

  private func newImage(
    for request: ImageRequest, until deadline: ContinuousClock.Instant
  ) async throws(ImageError) -> Outcome {
    let maximum = PreparedImages.smallMaximum
    guard let loaded = try await load(request, bytesUpTo: maximum, until: deadline) else {
      return .noLoad
    }
    guard loaded.bytes.isEmpty else { return try await add(loaded, for: request) }
    // Those who wait for a large one share a copy if memory keeps it.
    if let outcome = try await copy(loaded, for: request) { return outcome }
    // It was evicted before it was copied.
    guard let whole = try await load(request, bytesUpTo: .max, until: deadline) else {
      return .noLoad
    }
    return try await add(whole, for: request)
  }

  /// - Returns: `nil` without a load.
  private func load(
    _ request: ImageRequest, bytesUpTo maximumByteCount: Int,
    until deadline: ContinuousClock.Instant
  ) async throws(ImageError) -> LoadedImage? {
    let timeout = deadline - .now
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

  private func add(
    _ image: LoadedImage, for request: ImageRequest
  ) async throws(ImageError) -> Outcome {
    try await images.add(image, for: request).map { .image($0) } ?? .noRoom
  }
}
