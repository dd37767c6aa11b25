/// The reason why a decoder cannot start.
package struct DecoderRefusal: Hashable, Sendable, Codable {
  package let reason: String
  /// Whether every other decoder of this machine would say the same.
  package let isLasting: Bool

  package init(reason: String, isLasting: Bool) {
    self.reason = reason
    self.isLasting = isLasting
  }

  private enum CodingKeys: String, CodingKey {
    case reason
    case isLasting = "lasting"
  }
}
