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
