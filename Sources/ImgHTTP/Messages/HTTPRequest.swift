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
