import Dispatch

/// Runs calls that block on a thread that belongs to no task.
enum BlockingCall {
  /// - Parameters:
  ///   - url: what an error is about.
  ///   - body: is not ended by the cancellation of the task.
  static func run<Result: Sendable>(
    about url: String? = nil, _ body: @escaping @Sendable () throws -> Result
  ) async throws(ImageError) -> Result {
    guard !Task.isCancelled else { throw .cancelled(url) }
    let result: Swift.Result<Result, ImageError> = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        do {
          continuation.resume(returning: .success(try body()))
        } catch {
          continuation.resume(returning: .failure(ImageError(cause: error, url: url)))
        }
      }
    }
    return try result.get()
  }
}
