/// The target of a request: a path and maybe a query, as the client sent them (RFC 9112, section 3.2.1).
///
/// Escapes are decoded once, and only in the parts that a resource is asked for: a slash that is escaped
/// separates nothing.
package struct RequestTarget: Hashable, Sendable {
  /// As sent.
  package let text: String
  /// Begins with a slash; with its escapes.
  package let path: String
  /// What follows the first question mark, with its escapes; `nil` without one.
  package let query: String?

  /// The maximum length in bytes that the server accepts, as other servers of HTTP do. libmicrohttpd clears as
  /// much memory for each request as a header may have, so a longer limit costs time.
  package static let maximumByteCount = 8_192

  /// - Parameter text: letters outside ASCII may stand for themselves, as some programs send them.
  /// - Throws: 400 for a target that is no path, or has a space, a control character or a fragment.
  package init(_ text: String) throws(RequestRejection) {
    guard text.utf8.first == UInt8(ascii: "/") else {
      throw .malformedTarget("the request target must begin with a slash")
    }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "#") }) else {
      throw .malformedTarget(
        "the request target contains #, a space or a control character; escape it: %23 for #, %20 for a "
          + "space")
    }
    self.text = text
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(parts[0])
    query = parts.count == 2 ? String(parts[1]) : nil
  }

  /// The parts of the path between its slashes, with their escapes. The path `/` has one, which is empty.
  package var segments: [Substring] {
    path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
  }

  /// The parameters of the query.
  ///
  /// - Throws: see ``QueryParameters/init(_:)``.
  package func parameters() throws(RequestRejection) -> QueryParameters {
    try QueryParameters(query ?? "")
  }
}
