/// The metadata of a thumbnail.
package struct Thumbnail: Hashable, Sendable, Codable {
  package let format: ImageFormat
  /// The size in pixels.
  package let width: Int
  package let height: Int
  /// The size of the encoded thumbnail.
  package let byteCount: Int
  /// Whether it shows what a lenient decode could read of a damaged picture.
  package let isDamaged: Bool

  package init(
    format: ImageFormat, width: Int, height: Int, byteCount: Int, isDamaged: Bool = false
  ) {
    self.format = format
    self.width = width
    self.height = height
    self.byteCount = byteCount
    self.isDamaged = isDamaged
  }

  /// Whether it may answer a request. A damaged one answers only lenient requests.
  package func answers(isLenient: Bool) -> Bool { isLenient || !isDamaged }
}

extension Thumbnail {
  private enum CodingKeys: String, CodingKey {
    case format, width, height
    case byteCount = "bytes"
    case isDamaged = "damaged"
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      format: try container.decode(ImageFormat.self, forKey: .format),
      width: try container.decode(Int.self, forKey: .width),
      height: try container.decode(Int.self, forKey: .height),
      byteCount: try container.decode(Int.self, forKey: .byteCount),
      isDamaged: try container.decodeIfPresent(Bool.self, forKey: .isDamaged) ?? false)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(format, forKey: .format)
    try container.encode(width, forKey: .width)
    try container.encode(height, forKey: .height)
    try container.encode(byteCount, forKey: .byteCount)
    // Few are.
    if isDamaged { try container.encode(true, forKey: .isDamaged) }
  }
}
