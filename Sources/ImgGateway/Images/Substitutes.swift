import ImgClient
import ImgHTTP
import ImgModel

/// What stands in for a picture that failed, if the request asks for that: a drawing, or another picture. Nothing
/// keeps it under the URL of the first one. Otherwise the failure is the answer.
struct Substitutes: Sendable {
  let loader: PictureLoader

  /// - Parameters:
  ///   - wanted: the request for the picture that failed.
  ///   - deadline: of the request. After it, another picture is sent only if it is stored.
  func response(
    for query: ImageQuery, _ wanted: ImageRequest, insteadOf failure: FailureReport,
    until deadline: ContinuousClock.Instant
  ) async -> HTTPResponse {
    // A client that has left needs nothing.
    guard !Task.isCancelled else { return failure.response() }
    switch query.fallback {
    case .failure: return failure.response()
    case .placeholder(let placeholder):
      return drawing(placeholder, query.box.drawingSize, insteadOf: failure)
    case .picture(let url):
      var other = wanted
      other.url = url
      do throws(ImageError) {
        let outcome = try await loader.image(for: other, within: deadline - .now)
        guard case .image(let image) = outcome else { return failure.response() }
        return .replacement(image.body, image.type, insteadOf: failure)
      } catch {
        return failure.followed(by: error).response()
      }
    }
  }

  private func drawing(
    _ placeholder: ImagePlaceholder, _ size: (width: Int, height: Int),
    insteadOf failure: FailureReport
  ) -> HTTPResponse {
    let svg = placeholder.svg(width: size.width, height: size.height)
    var response = HTTPResponse.replacement(HTTPBody(svg), .svg, insteadOf: failure)
    response.fields.add("Content-Security-Policy", "default-src 'none'; sandbox")
    return response
  }
}

extension HTTPResponse {
  fileprivate static func replacement(
    _ body: HTTPBody, _ type: ImageType, insteadOf failure: FailureReport
  ) -> HTTPResponse {
    HTTPResponse(
      .ok,
      fields: [
        "Content-Type": type.mediaType, "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff", "X-Imgctl-Failure": failure.code,
      ],
      body: .bytes(body))
  }
}
