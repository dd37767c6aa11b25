import CMicroHTTPD

/// The bytes of a body. Any number of responses can share one, and none copies it to send it.
///
/// Sendable is unchecked because of the pointer. The memory behind it is written only by the initialiser,
/// and the object owns it.
@safe
package final class HTTPBody: @unchecked Sendable {
  /// libmicrohttpd reads it while it sends, so it stays in its place as long as the object lives.
  let memory: UnsafeRawBufferPointer
  private let onRelease: (@Sendable () -> Void)?

  /// - Parameter onRelease: is called when nothing holds the bytes any more.
  package init(_ bytes: [UInt8], onRelease: (@Sendable () -> Void)? = nil) {
    self.onRelease = onRelease
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    unsafe copy.copyBytes(from: bytes)
    unsafe memory = UnsafeRawBufferPointer(copy)
  }

  deinit {
    unsafe memory.deallocate()
    onRelease?()
  }

  /// The number of bytes.
  package var count: Int { unsafe memory.count }

  /// A copy.
  package var bytes: [UInt8] { unsafe Array(memory) }
}

/// The header fields of a message, in their order (RFC 9110, section 5).
package struct HTTPFields: Hashable, Sendable, ExpressibleByDictionaryLiteral {
  package struct Field: Hashable, Sendable {
    package let name: String
    package let value: String
  }

  package private(set) var fields: [Field]

  package init(_ fields: [Field] = []) {
    self.fields = fields
  }

  package init(dictionaryLiteral elements: (String, String)...) {
    self.init(elements.map { Field(name: $0, value: $1) })
  }

  /// The values of a name, whatever its case, separated by commas (section 5.3); `nil` without a field.
  package subscript(name: String) -> String? {
    guard let first = fields.firstIndex(where: { $0.name.isEqualIgnoringCase(to: name) }) else {
      return nil
    }
    return fields[first...].dropFirst().reduce(into: fields[first].value) { values, field in
      if field.name.isEqualIgnoringCase(to: name) { values += ", \(field.value)" }
    }
  }

  /// The values of the fields of a name, whatever its case, in their order.
  package func values(of name: String) -> [String] {
    fields.filter { $0.name.isEqualIgnoringCase(to: name) }.map(\.value)
  }

  /// Adds a field, also if there is one of its name.
  package mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Removes the fields of a name, whatever its case.
  package mutating func remove(_ name: String) {
    fields.removeAll { $0.name.isEqualIgnoringCase(to: name) }
  }
}

extension String {
  /// Whether two field names are equal: letters of ASCII are, in either case.
  fileprivate func isEqualIgnoringCase(to other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    return zip(utf8, other.utf8).allSatisfy { $0.asLowercase == $1.asLowercase }
  }
}

extension UInt8 {
  fileprivate var asLowercase: UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
  }
}

/// The method of a request (RFC 9110, section 9).
package enum HTTPMethod: Hashable, Sendable {
  case get
  case head
  case post
  /// A method that no resource of this server has.
  case other(String)

  /// - Parameter name: as sent. Names are case-sensitive.
  package init(_ name: String) {
    self =
      switch name {
      case "GET": .get
      case "HEAD": .head
      case "POST": .post
      default: .other(name)
      }
  }
}

/// A request within the limits of the server. It has no body: the server refuses those that do.
package struct HTTPRequest: Hashable, Sendable {
  package let method: HTTPMethod
  /// The path and the query as sent, with their escapes (RFC 9112, section 3.2.1).
  package let target: String
  package let fields: HTTPFields

  package init(_ method: HTTPMethod, _ target: String, fields: HTTPFields = [:]) {
    self.method = method
    self.target = target
    self.fields = fields
  }
}

/// A response. The server adds `Date`, `Content-Length` and `Connection`, and leaves out the body of an
/// answer to HEAD and from a 304.
///
/// The length of a 304 should be that of the 200 in its place (RFC 9110, section 8.6), so give it that body. A
/// 304 without one states the length 0, which clients ignore.
package struct HTTPResponse: Sendable {
  package enum Body: Sendable {
    case none
    case bytes(HTTPBody)
    /// Chunks that are sent as they come, until the stream ends or the client leaves; the stream is
    /// cancelled then. A client that does not read is closed.
    case stream(AsyncStream<[UInt8]>)

    /// A body of its own.
    package static func bytes(_ bytes: [UInt8]) -> Body {
      .bytes(HTTPBody(bytes))
    }
  }

  package var status: HTTPStatus
  package var fields: HTTPFields
  package var body: Body

  package init(_ status: HTTPStatus, fields: HTTPFields = [:], body: Body = .none) {
    self.status = status
    self.fields = fields
    self.body = body
  }
}

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

/// A response that is sent many times, with the same bytes as its body. Its fields are checked and handed to
/// libmicrohttpd once.
package final class RepeatedResponse: Sendable {
  package let response: HTTPResponse
  /// `nil` if libmicrohttpd does not take the response. It is sent as any other then, which reports that.
  private let outgoing: OutgoingResponse?

  package init(_ response: HTTPResponse) {
    self.response = response
    outgoing = Self.outgoing(response)
  }

  private static func outgoing(_ response: HTTPResponse) -> OutgoingResponse? {
    // A stream can be sent once.
    guard case .bytes(let body) = response.body, let outgoing = OutgoingResponse(.bytes(body)),
      outgoing.add(response.fields, isLast: false)
    else { return nil }
    return outgoing
  }

  /// - Returns: `nil` if it must be sent as any other response.
  func queue(on connection: OpaquePointer) -> MHD_Result? {
    unsafe outgoing?.queue(status: response.status, on: connection)
  }
}

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
