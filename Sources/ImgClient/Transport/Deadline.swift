/// A limit of the time that work may take.
package enum Deadline {
  /// Runs a load after the delay of its request, and cancels it at the end of its time.
  ///
  /// - Throws: ``ImageError/Code/timeout``, and what the load throws.
  static func load(
    _ request: ImageRequest,
    _ body: @escaping @Sendable () async throws(ImageError) -> LoadedImage
  ) async throws(ImageError) -> LoadedImage {
    try await waitForDelay(of: request)
    guard let limit = request.timeout else { return try await body() }
    return try await value(within: limit, body)
  }

  /// Waits as long as a request wants its load to wait before it begins.
  static func waitForDelay(of request: ImageRequest) async throws(ImageError) {
    guard request.delay > .zero else { return }
    do {
      try await Task.sleep(for: request.delay)
    } catch {
      throw .cancelled(request.url)
    }
  }

  /// Runs a body, and cancels it at the end of its time.
  ///
  /// - Throws: ``ImageError/Code/timeout`` if it throws then that it was cancelled, and what else it throws.
  package static func value<Value: Sendable>(
    within limit: Duration, _ body: @escaping @Sendable () async throws(ImageError) -> Value
  ) async throws(ImageError) -> Value {
    // Immediate, so that a load costs no change of threads before it waits.
    let task = Task.immediate { () async -> Result<Value, ImageError> in
      do throws(ImageError) {
        return .success(try await body())
      } catch {
        return .failure(error)
      }
    }
    let timeout = Timeouts.shared.add(at: .now + limit) { task.cancel() }
    let result = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    if timeout.end(), case .failure(let error) = result, error.code == .cancelled {
      throw .timedOut(error.url, after: limit)
    }
    return try result.get()
  }
}
