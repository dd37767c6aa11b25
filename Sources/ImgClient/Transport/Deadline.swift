/// A limit of the time that a load may take.
enum Deadline {
  /// Runs a load after the delay of its request, and cancels it at the end of its time.
  ///
  /// - Throws: ``ImageError/Code/timeout``, and what the load throws.
  static func load(
    _ request: ImageRequest,
    _ body: @escaping @Sendable () async throws(ImageError) -> LoadedImage
  ) async throws(ImageError) -> LoadedImage {
    let url = request.url
    if request.delay > .zero {
      do {
        try await Task.sleep(for: request.delay)
      } catch {
        throw .cancelled(url)
      }
    }
    guard let limit = request.timeout else { return try await body() }
    let result = await withTaskGroup(of: Result<LoadedImage, ImageError>?.self) { group in
      group.addTask {
        do throws(ImageError) {
          return .success(try await body())
        } catch {
          return .failure(error)
        }
      }
      group.addTask {
        do {
          try await Task.sleep(for: limit)
          return .failure(
            ImageError(
              code: .timeout, url: url, isRetryable: true,
              message: "the load took longer than its timeout of \(limit)"))
        } catch {
          // The load's own end counts.
          return nil
        }
      }
      defer { group.cancelAll() }
      while let ended = await group.next() {
        if let ended { return ended }
      }
      return .failure(.cancelled(url))
    }
    return try result.get()
  }
}
