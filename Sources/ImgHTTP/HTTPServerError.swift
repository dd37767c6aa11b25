/// Why a server did not start. The description says what to do.
package struct HTTPServerError: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}
