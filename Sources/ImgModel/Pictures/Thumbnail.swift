/// The metadata of a thumbnail.
package struct Thumbnail: Hashable, Sendable, Codable {
  package let format: ImageFormat
  /// The size in pixels.
  package let width: Int
  package let height: Int
  /// The size of the encoded thumbnail.
  package let byteCount: Int

  package init(format: ImageFormat, width: Int, height: Int, byteCount: Int) {
    self.format = format
    self.width = width
    self.height = height
    self.byteCount = byteCount
  }

  private enum CodingKeys: String, CodingKey {
    case format, width, height
    case byteCount = "bytes"
  }
}
