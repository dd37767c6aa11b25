/// A request, whole and within the limits of the server.
package struct HTTPRequest: Hashable, Sendable {
  package let method: HTTPMethod
  /// The path and the query as sent, with their escapes (RFC 9112, section 3.2.1).
  package let target: String
  package let fields: HTTPFields
  /// Empty for a request without a body.
  package let body: [UInt8]

  package init(
    _ method: HTTPMethod, _ target: String, fields: HTTPFields = [:], body: [UInt8] = []
  ) {
    self.method = method
    self.target = target
    self.fields = fields
    self.body = body
  }
}
