import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel

/// A failure as the body of an answer: `{"error": {…}}`.
struct FailureReport: Encodable {
  private struct Details: Encodable {
    let code: String
    let message: String
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

  private let error: Details

  init(_ error: ImageError) {
    self.error = Details(
      code: error.code.rawValue, message: error.message.withoutPasswords,
      url: error.url?.withoutPasswords, httpStatus: error.httpStatus, retryable: error.isRetryable,
      retryAt: error.retryAt.map { WallTime($0) })
  }

  init(_ rejection: RequestRejection) {
    error = Details(
      code: rejection.code, message: rejection.message.withoutPasswords, url: nil,
      httpStatus: nil, retryable: rejection.status == .serviceUnavailable, retryAt: nil)
  }

  /// The answer with a status. Nothing keeps it.
  func response(_ status: HTTPStatus) -> HTTPResponse {
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
