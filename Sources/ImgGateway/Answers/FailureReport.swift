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

    enum CodingKeys: String, CodingKey {
      case code, message, url
      case httpStatus = "http_status"
      case retryable
    }
  }

  private let error: Details

  init(_ error: ImageError) {
    self.error = Details(
      code: error.code.rawValue, message: error.message.withoutPasswords,
      url: error.url?.withoutPasswords, httpStatus: error.httpStatus, retryable: error.isRetryable)
  }

  init(_ rejection: RequestRejection) {
    error = Details(
      code: rejection.code, message: rejection.message.withoutPasswords, url: nil,
      httpStatus: nil, retryable: rejection.status == .serviceUnavailable)
  }

  /// The answer with a status. Nothing keeps it.
  func response(_ status: HTTPStatus) -> HTTPResponse {
    var response = HTTPResponse.json(self, status)
    // Whether it helps to ask again is known after a while, not at once.
    if status == .serviceUnavailable || status == .tooManyRequests {
      response.fields.add("Retry-After", "1")
    }
    return response
  }
}
