import ImgClient
import ImgHTTP
import ImgModel

/// What stands in for a picture that failed, if the request asks for that: a drawing, or another picture. Nothing
/// keeps it under the URL of the first one. Otherwise the failure is the answer.
struct Substitutes: Sendable {
  let client: ImageClient
  let loader: PictureLoader

  /// Answers without waiting: another picture only if it is stored.
  ///
  /// - Parameter wanted: the request for the picture that failed.
  func atHand(
    for query: ImageQuery, _ wanted: ImageRequest, insteadOf failure: FailureReport
  ) -> HTTPResponse {
    switch query.fallback {
    case .failure: return failure.response()
    case .placeholder(let placeholder):
      return drawing(placeholder, query.box.drawingSize, insteadOf: failure)
    case .picture(let url):
      var other = wanted
      other.url = url
      // A store that cannot be read has no picture, and the first failure is the one to report.
      guard let image = try? client.cachedImage(for: other) else { return failure.response() }
      return .replacement(image, insteadOf: failure)
    }
  }

  /// Answers when another picture is loaded. Without room for that load, it is sent only if it is stored.
  ///
  /// - Parameter deadline: of the request.
  func loaded(
    for query: ImageQuery, _ wanted: ImageRequest, insteadOf failure: FailureReport,
    until deadline: ContinuousClock.Instant
  ) async -> HTTPResponse {
    let remaining = deadline - .now
    guard case .picture(let url) = query.fallback, remaining > .zero else {
      return atHand(for: query, wanted, insteadOf: failure)
    }
    var other = wanted
    other.url = url
    other.timeout = remaining
    do throws(ImageError) {
      guard let image = try await loader.image(for: other) else {
        return atHand(for: query, wanted, insteadOf: failure)
      }
      return .replacement(image, insteadOf: failure)
    } catch {
      return failure.followed(by: error).response()
    }
  }

  private func drawing(
    _ placeholder: ImagePlaceholder, _ size: (width: Int, height: Int),
    insteadOf failure: FailureReport
  ) -> HTTPResponse {
    var response = HTTPResponse.replacement(
      placeholder.svg(width: size.width, height: size.height), .svg, insteadOf: failure)
    response.fields.add("Content-Security-Policy", "default-src 'none'; sandbox")
    return response
  }
}

extension HTTPResponse {
  fileprivate static func replacement(
    _ image: LoadedImage, insteadOf failure: FailureReport
  ) -> HTTPResponse {
    replacement(image.bytes, image.type, insteadOf: failure)
  }

  fileprivate static func replacement(
    _ bytes: [UInt8], _ type: ImageType, insteadOf failure: FailureReport
  ) -> HTTPResponse {
    HTTPResponse(
      .ok,
      fields: [
        "Content-Type": type.mediaType, "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff", "X-Imgctl-Failure": failure.code,
      ],
      body: .bytes(bytes))
  }
}
