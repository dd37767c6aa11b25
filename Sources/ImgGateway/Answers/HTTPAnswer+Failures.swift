import ImgClient
import ImgHTTP

extension HTTPAnswer {
  /// An answer that takes a while, or the failure in its place.
  ///
  /// - Parameter limit: the body is cancelled then, and the failure is ``ImageError/Code/timeout``. Without one,
  ///   a coordinator that hangs would hold the place of the request.
  static func laterOrFailure(
    within limit: Duration,
    _ body: @escaping @Sendable () async throws(ImageError) -> HTTPResponse
  ) -> HTTPAnswer {
    .later {
      do throws(ImageError) {
        return try await Deadline.value(within: limit, body)
      } catch {
        return FailureReport(error).response()
      }
    }
  }
}
