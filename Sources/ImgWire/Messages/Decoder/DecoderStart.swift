package import ImgModel

/// The settings that a decoder starts with.
package struct DecoderStart: Hashable, Sendable, Codable {
  package let limits: Limits
  /// Whether the decoder refuses to start if a part of its sandbox is missing.
  package let requiresSandbox: Bool

  package init(limits: Limits, requiresSandbox: Bool) {
    self.limits = limits
    self.requiresSandbox = requiresSandbox
  }

  private enum CodingKeys: String, CodingKey {
    case limits
    case requiresSandbox = "require_sandbox"
  }
}
