import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel

/// A failure as the body of an answer: `{"error": {…}}`.
struct FailureReport: Encodable {
  private struct Details: Encodable {
    let code: String
    var message: String
    let url: String?
    let httpStatus: Int?
    let retryable: Bool
    let retryAt: WallTime?

    enum CodingKeys: String, CodingKey {
      case code, message, url
      case httpStatus = "http_status"
      case retryable
      case retryAt = "retry_at"
    }
  }

  private enum CodingKeys: String, CodingKey {
    case error
  }

  /// Of the answer.
  let status: HTTPStatus
  private var error: Details

  /// A word for programs, such as `http_status`.
  var code: String { error.code }

  init(_ failure: ImageError) {
    let error = failure.forClients
    status = error.isOfRedirect ? .badGateway : HTTPStatus(error)
    self.error = Details(
      code: error.code.rawValue, message: error.messageForClients.withoutPasswords,
      url: error.url?.withoutPasswords, httpStatus: error.httpStatus, retryable: error.isRetryable,
      retryAt: error.retryAt.map { WallTime($0) })
  }

  init(_ rejection: RequestRejection) {
    status = rejection.status
    error = Details(
      code: rejection.code, message: rejection.message.withoutPasswords, url: nil,
      httpStatus: nil, retryable: rejection.status == .serviceUnavailable, retryAt: nil)
  }

  /// This failure, with the message of the failure of the picture in its place.
  func followed(by other: ImageError) -> FailureReport {
    var report = self
    report.error.message += "; in its place: \(FailureReport(other).error.message)"
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
    max(1, error.retryAt.map { WallTime.now.duration(to: $0).secondsRoundedUp } ?? 1)
  }
}
