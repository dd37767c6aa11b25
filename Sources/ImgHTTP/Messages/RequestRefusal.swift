/// Why the server answers a request without asking its handler for an answer. The connection closes after the
/// response, except where the client may try again.
package struct RequestRefusal: Error, Hashable, Sendable {
  /// 400, 413, 414, 431, 500 or 503.
  package let status: HTTPStatus
  /// For the client.
  package let reason: String

  init(_ status: HTTPStatus, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  static let body = RequestRefusal(.contentTooLarge, "the request has a body")
  static let tooLargeHeader = RequestRefusal(
    .requestHeaderFieldsTooLarge, "the header of the request is too large")
  /// The client may try again soon.
  static let busy = RequestRefusal(.serviceUnavailable, "too many requests are waiting")
  static let invalidResponse = RequestRefusal(
    .internalServerError, "the response has a field that is not valid")
}
