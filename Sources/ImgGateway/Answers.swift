import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel

/// A failure as the body of an answer: `{"error": {…}}`.
struct FailureReport: Encodable {
  /// Of the answer.
  let status: HTTPStatus
  /// A word for programs, such as `http_status`.
  let code: String
  private var message: String
  private let failure: ImageError?
  private let isRetryable: Bool

  init(_ failure: ImageError) {
    let failure = failure.forClients
    status = failure.isOfRedirect ? .badGateway : HTTPStatus(failure)
    code = failure.code.rawValue
    message = failure.messageForClients.withoutPasswords
    isRetryable = failure.isRetryable
    self.failure = failure
  }

  /// The failure of a picture in a list, which people see who may know what the cluster knows.
  init(ofListed failure: ImageError) {
    status = HTTPStatus(failure)
    code = failure.code.rawValue
    message = failure.message.withoutPasswords
    isRetryable = failure.isRetryable
    self.failure = failure
  }

  init(_ rejection: RequestRejection) {
    status = rejection.status
    code = rejection.code
    message = rejection.message.withoutPasswords
    isRetryable = rejection.status == .serviceUnavailable
    failure = nil
  }

  func encode(to encoder: any Encoder) throws {
    try JSONObject(["error": details]).encode(to: encoder)
  }

  /// The object that describes it.
  var details: JSONObject {
    JSONObject([
      "code": code, "message": message, "retryable": isRetryable,
      "url": failure?.url?.withoutPasswords, "http_status": failure?.httpStatus,
      "retry_at": failure?.retryTime,
    ])
  }

  /// This failure, with the message of the failure of the picture in its place.
  func followed(by other: ImageError) -> FailureReport {
    var report = self
    report.message += "; in its place: \(FailureReport(other).message)"
    return report
  }

  /// The answer. Nothing keeps it.
  func response() -> HTTPResponse {
    var response = HTTPResponse.json(self, status)
    if status == .serviceUnavailable || status == .tooManyRequests {
      response.fields.add("Retry-After", "\(retryAfter)")
    }
    return response
  }

  /// In seconds. Without a time of the origin, whether it helps to ask again is known after a while, not at
  /// once.
  private var retryAfter: Int64 {
    max(1, failure?.retryTime.map { WallTime.now.duration(to: $0).secondsRoundedUp } ?? 1)
  }
}

/// How far the load of a picture is, as clients of the gateway are told.
enum LoadPhase: String, Encodable {
  /// Nothing of the picture is there. An answer has something else in its place.
  case empty
  /// The picture is arriving.
  case loading
  /// The picture is arriving, and a preview of it is there.
  case preview
  case success
  case failure

  init(_ phase: ImagePhase) {
    self =
      switch phase {
      case .empty: .empty
      case .loading: .loading
      case .preview: .preview
      case .success: .success
      case .failure: .failure
      }
  }

  /// Whether another phase follows.
  var isLoading: Bool { self != .success && self != .failure }

  /// The field that every answer to a request for a picture has.
  static let fieldName = "X-Phase"
}

extension HTTPAnswer {
  /// The answer to a request for a picture: one that is a failure says so.
  var withPhase: HTTPAnswer {
    switch self {
    case .response(let response): .response(response.withPhase)
    // It has a picture.
    case .repeated: self
    case .later(let executor, let prepare):
      .later(executor) { await prepare().withPhase }
    }
  }
}

extension HTTPResponse {
  fileprivate var withPhase: HTTPResponse {
    guard status.isError, fields[LoadPhase.fieldName] == nil else { return self }
    var response = self
    response.fields.add(LoadPhase.fieldName, LoadPhase.failure.rawValue)
    return response
  }
}

/// JSON as the gateway sends it.
package enum GatewayJSON {
  /// On one line, with sorted keys, so that equal values have equal bytes, and with escapes for what a
  /// terminal would obey.
  ///
  /// - Precondition: the value has no numbers that JSON lacks.
  package static func bytes(of value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else {
      preconditionFailure("values of answers have no numbers that JSON lacks")
    }
    return Array(String(decoding: data, as: UTF8.self).escapedForTerminals.utf8)
  }
}

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

extension HTTPAnswer {
  /// The answer with the field that keeps browsers from handing it to pages of other sites (Fetch,
  /// `Cross-Origin-Resource-Policy`).
  var forOwnPages: HTTPAnswer {
    switch self {
    case .response(let response): .response(response.forOwnPages)
    case .repeated(let repeated): .response(repeated.response.forOwnPages)
    case .later(let executor, let prepare):
      .later(executor) { await prepare().forOwnPages }
    }
  }
}

extension HTTPAnswer {
  /// The answer that scripts of pages of all sites may read.
  var forAllPages: HTTPAnswer {
    switch self {
    case .response(let response): .response(response.forAllPages)
    // Those of a picture have the fields.
    case .repeated: self
    case .later(let executor, let prepare):
      .later(executor) { await prepare().forAllPages }
    }
  }
}

extension HTTPResponse {
  /// The fields that let pages of all sites use an answer: in scripts (Fetch, CORS protocol), where they isolate
  /// themselves (`Cross-Origin-Resource-Policy`), and in measurements (Resource Timing). weserv sends the same three.
  static func addFieldsForAllPages(to fields: inout HTTPFields) {
    fields.add("Access-Control-Allow-Origin", "*")
    fields.add("Cross-Origin-Resource-Policy", "cross-origin")
    fields.add("Timing-Allow-Origin", "*")
    // Scripts ask again for a picture that is loading.
    fields.add("Access-Control-Expose-Headers", "Retry-After, \(LoadPhase.fieldName)")
  }

  /// The answer to a request that asks what other requests may have (Fetch, CORS-preflight request).
  ///
  /// - Parameter isShared: whether pages of all sites may send them.
  static func preflight(isShared: Bool) -> HTTPResponse {
    var fields: HTTPFields = ["Allow": "GET, HEAD, OPTIONS", "Cache-Control": "no-store"]
    if isShared {
      addFieldsForAllPages(to: &fields)
      fields.add("Access-Control-Allow-Methods", "GET, HEAD")
      fields.add("Access-Control-Allow-Headers", "*")
      fields.add("Access-Control-Max-Age", "86400")
    }
    return HTTPResponse(.noContent, fields: fields)
  }

  fileprivate var forAllPages: HTTPResponse {
    guard fields["Access-Control-Allow-Origin"] == nil else { return self }
    var response = self
    Self.addFieldsForAllPages(to: &response.fields)
    return response
  }

  fileprivate var forOwnPages: HTTPResponse {
    var response = self
    response.fields.add("Cross-Origin-Resource-Policy", "same-origin")
    return response
  }
}

extension HTTPResponse {
  /// A value as JSON, which nothing keeps.
  static func json(_ value: some Encodable, _ status: HTTPStatus = .ok) -> HTTPResponse {
    HTTPResponse(
      status,
      fields: [
        "Content-Type": "application/json", "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
      ],
      body: .bytes(GatewayJSON.bytes(of: value)))
  }

  /// Plain text, which nothing keeps.
  static func text(
    _ text: String, _ status: HTTPStatus = .ok, type: String = "text/plain; charset=utf-8"
  ) -> HTTPResponse {
    HTTPResponse(
      status,
      fields: [
        "Content-Type": type, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
      ],
      body: .bytes(Array(text.utf8)))
  }
}

extension HTTPStatus {
  /// Whether it is one of a client's or of the server's errors (RFC 9110, section 15).
  fileprivate var isError: Bool { rawValue >= 400 }

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
      case .storeAbsent, .storeFull, .storeDamaged, .storeFailure, .otherDataDirectory, .cancelled:
        .serviceUnavailable
      case let code where code.meansNoCoordinator: .serviceUnavailable
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

extension ImageError {
  /// Whether the origin redirects to text that is no URL, or to a URL of another scheme, such as file. The URL of
  /// the client was good.
  var isOfRedirect: Bool {
    httpStatus != nil && (code == .invalidURL || code == .unsupportedScheme)
  }

  /// The error as clients of the gateway see it: whether a name leads nowhere or to an address that is not public
  /// has one answer, because the difference would tell which names a private network has.
  var forClients: ImageError {
    guard code == .blockedAddress || code == .dnsFailure else { return self }
    return ImageError(
      code: .dnsFailure, url: url, isRetryable: true,
      message: "the host has no public address that this server permits")
  }

  /// The message for clients of the gateway, who see neither its machine nor its command line.
  /// `/ready` says what is wrong with the cluster, to clients that may see it.
  var messageForClients: String {
    switch code {
    case _ where code.meansNoCoordinator || code == .otherDataDirectory:
      "the server cannot load pictures now; what is stored is served. Ask again later"
    case .storeAbsent, .storeFull, .storeDamaged, .storeFailure:
      "the server cannot store pictures now; ask again later"
    // The message of libcurl names the TLS library and its version.
    case .tlsFailure: "there is no TLS connection to the origin that this server trusts"
    case .outOfMemory: "decoding the picture needs more memory than this server permits"
    default: message
    }
  }
}
