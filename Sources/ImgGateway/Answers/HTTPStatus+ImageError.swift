import ImgClient
import ImgHTTP

extension HTTPStatus {
  /// The status that tells a client of HTTP why there is no thumbnail.
  init(_ error: ImageError) {
    self =
      switch error.code {
      case .invalidURL, .unsupportedScheme, .invalidRequest: .badRequest
      case .blockedAddress, .blockedOrigin, .blockedPath, .optedOut, .unreadableFile: .forbidden
      case .notCached, .unknownJob: .notFound
      case .wrongState: .conflict
      case .httpStatus: Self.forOrigin(error)
      case .notAnImage, .unsupportedFormat, .unsupportedAnimation: .unsupportedMediaType
      case .tooLarge, .tooManyPixels, .tooManyFrames, .frameOutOfRange, .corruptImage,
        .decodeTimeout, .decodeCrash, .outOfMemory:
        .unprocessableContent
      case .timeout: .gatewayTimeout
      case .dnsFailure, .connectFailure, .proxyFailure, .tlsFailure, .tooManyRedirects,
        .invalidResponse, .truncatedBody:
        .badGateway
      case .unreachable, .versionMismatch, .disconnected, .refused, .storeFailure, .storeFull,
        .cancelled:
        .serviceUnavailable
      default: .internalServerError
      }
  }

  /// What is missing at the origin is missing here. Other errors of the origin are none of the client's.
  /// A failure that names a time says nothing of the picture, whatever status has come with that time.
  private static func forOrigin(_ error: ImageError) -> HTTPStatus {
    switch error.httpStatus {
    case 429: .tooManyRequests
    case _ where error.retryAt != nil: .serviceUnavailable
    case 404, 410: .notFound
    default: .badGateway
    }
  }
}
