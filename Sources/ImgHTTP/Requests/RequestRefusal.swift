/// Why the server answers a request without asking its handler. The connection closes after the response.
struct RequestRefusal: Error, Hashable {
  let status: HTTPStatus
  /// For the client.
  let reason: String

  init(_ status: HTTPStatus, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  static let tooLargeBody = RequestRefusal(.contentTooLarge, "the body of the request is too large")
  static let tooLargeHeader = RequestRefusal(
    .requestHeaderFieldsTooLarge, "the header of the request is too large")
  /// The client may try again soon.
  static let busy = RequestRefusal(.serviceUnavailable, "too many requests are waiting")
  static let invalidResponse = RequestRefusal(
    .internalServerError, "the response has a field that is not valid")

  var response: HTTPResponse {
    var fields: HTTPFields = ["Content-Type": "text/plain; charset=utf-8"]
    if status == .serviceUnavailable { fields.add("Retry-After", "1") }
    return HTTPResponse(status, fields: fields, body: .bytes(Array("\(reason)\n".utf8)))
  }
}
