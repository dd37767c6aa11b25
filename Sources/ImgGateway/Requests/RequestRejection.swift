package import ImgHTTP

/// Why the gateway does not accept a request, before any picture is looked for.
package struct RequestRejection: Error, Hashable, Sendable {
  /// 400, 403, 404, 405, 412, 413, 414, 422, 429, 431, 500 or 503.
  package let status: HTTPStatus
  /// A word for programs, such as `invalid_option`.
  package let code: String
  /// What is wrong, with the name of the option at fault, and what to do.
  package let message: String

  package init(_ status: HTTPStatus, code: String, _ message: String) {
    self.status = status
    self.code = code
    self.message = message
  }
}
