/// A limit of the time that a load may take.
enum Deadline {
  /// Runs a load after the delay of its request, and cancels it at the end of its time.
  ///
  /// - Throws: ``ImageError/Code/timeout``, and what the load throws.
  static func load(
    _ request: ImageRequest,
    _ body: @escaping @Sendable () async throws(ImageError) -> LoadedImage
  ) async throws(ImageError) -> LoadedImage {
    if request.delay > .zero {
      do {
        try await Task.sleep(for: request.delay)
      } catch {
        throw .cancelled(request.url)
      }
    }
    guard let limit = request.timeout else { return try await body() }
    // Immediate, so that a load costs no change of threads before it waits.
    let load = Task.immediate { () async -> Result<LoadedImage, ImageError> in
      do throws(ImageError) {
        return .success(try await body())
      } catch {
        return .failure(error)
      }
    }
    let timeout = Timeouts.shared.add(at: .now + limit) { load.cancel() }
    let result = await withTaskCancellationHandler {
      await load.value
    } onCancel: {
      load.cancel()
    }
    if timeout.end(), case .failure(let error) = result, error.code == .cancelled {
      throw ImageError(
        code: .timeout, url: request.url, isRetryable: true,
        message: "the load took longer than its timeout of \(limit)")
    }
    return try result.get()
  }
}
