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
