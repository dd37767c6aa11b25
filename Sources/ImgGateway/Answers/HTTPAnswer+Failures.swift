import ImgClient
import ImgHTTP

extension HTTPAnswer {
  /// An answer that takes a while, or the failure in its place.
  static func laterOrFailure(
    _ body: @escaping @Sendable () async throws(ImageError) -> HTTPResponse
  ) -> HTTPAnswer {
    .later {
      do throws(ImageError) {
        return try await body()
      } catch {
        return FailureReport(error).response()
      }
    }
  }
}
