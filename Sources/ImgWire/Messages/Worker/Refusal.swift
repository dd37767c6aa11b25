/// Why a worker does not begin.
package struct Refusal: Hashable, Sendable, Codable {
  package let reason: String

  package init(reason: String) {
    self.reason = reason
  }
}
