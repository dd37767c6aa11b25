/// A status code (RFC 9110, section 15).
package struct HTTPStatus: RawRepresentable, Hashable, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }

  package static let ok = HTTPStatus(rawValue: 200)
  package static let noContent = HTTPStatus(rawValue: 204)
  package static let seeOther = HTTPStatus(rawValue: 303)
  package static let notModified = HTTPStatus(rawValue: 304)
  package static let badRequest = HTTPStatus(rawValue: 400)
  package static let forbidden = HTTPStatus(rawValue: 403)
  package static let notFound = HTTPStatus(rawValue: 404)
  package static let methodNotAllowed = HTTPStatus(rawValue: 405)
  package static let conflict = HTTPStatus(rawValue: 409)
  package static let preconditionFailed = HTTPStatus(rawValue: 412)
  package static let contentTooLarge = HTTPStatus(rawValue: 413)
  package static let uriTooLong = HTTPStatus(rawValue: 414)
  package static let unsupportedMediaType = HTTPStatus(rawValue: 415)
  package static let unprocessableContent = HTTPStatus(rawValue: 422)
  package static let tooManyRequests = HTTPStatus(rawValue: 429)
  package static let requestHeaderFieldsTooLarge = HTTPStatus(rawValue: 431)
  package static let internalServerError = HTTPStatus(rawValue: 500)
  package static let badGateway = HTTPStatus(rawValue: 502)
  package static let serviceUnavailable = HTTPStatus(rawValue: 503)
  package static let gatewayTimeout = HTTPStatus(rawValue: 504)
}
