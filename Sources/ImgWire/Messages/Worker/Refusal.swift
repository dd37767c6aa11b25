/// The reason why a worker cannot start.
package struct Refusal: Hashable, Sendable, Codable {
  package let reason: String

  package init(reason: String) {
    self.reason = reason
  }
}
