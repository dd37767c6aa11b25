package import ImgModel

/// One picture for a decoder.
package struct DecodeRequest: Hashable, Sendable, Codable {
  package let variant: Variant
  /// The size of the picture, which begins at the start of the input memory.
  package let byteCount: Int

  package init(variant: Variant, byteCount: Int) {
    self.variant = variant
    self.byteCount = byteCount
  }

  private enum CodingKeys: String, CodingKey {
    case variant
    case byteCount = "bytes"
  }
}
