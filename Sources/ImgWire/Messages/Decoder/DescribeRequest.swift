/// One picture whose pixels a decoder describes.
package struct DescribeRequest: Hashable, Sendable, Codable {
  /// See ``DecodeRequest/picture``.
  package let picture: UInt64
  /// The size of the picture, which begins at the start of the input memory.
  package let byteCount: Int

  package init(picture: UInt64, byteCount: Int) {
    self.picture = picture
    self.byteCount = byteCount
  }

  private enum CodingKeys: String, CodingKey {
    case picture
    case byteCount = "bytes"
  }
}
