/// The number that a client chooses for one of its requests. Each reply has the number of its request.
package struct RequestID: RawRepresentable, Hashable, Sendable, Codable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}
