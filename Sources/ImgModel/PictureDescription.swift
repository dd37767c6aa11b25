internal import FoundationEssentials

/// What a decoder tells of a picture in place of a thumbnail. Checked as far as its form goes, because it
/// may come from a decoder that a picture controls.
package struct PictureDescription: Hashable, Sendable {
  package static let maximumFrameCount = 1 << 16
  package static let delayRange = 0...Int(Int32.max)

  package let pixels: PixelFacts
  /// How long each frame of an animation is shown, in milliseconds, as the file says it; `nil` for a
  /// still, and for formats whose frames are counted without a decoder.
  package let frameDelays: [Int]?

  /// - Returns: `nil` for delays of no frame, of more than ``maximumFrameCount``, and for delays outside
  ///   ``delayRange``.
  package init?(pixels: PixelFacts, frameDelays: [Int]? = nil) {
    if let frameDelays {
      guard (1...Self.maximumFrameCount).contains(frameDelays.count),
        frameDelays.allSatisfy(Self.delayRange.contains)
      else { return nil }
    }
    (self.pixels, self.frameDelays) = (pixels, frameDelays)
  }
}

extension PictureDescription: Codable {
  private enum CodingKeys: String, CodingKey {
    case frameDelays = "frame_delays_ms"
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard
      let description = PictureDescription(
        pixels: try PixelFacts(from: decoder),
        frameDelays: try container.decodeIfPresent([Int].self, forKey: .frameDelays))
    else {
      throw DecodingError.dataCorruptedError(
        forKey: .frameDelays, in: container, debugDescription: "not the delays of frames")
    }
    self = description
  }

  package func encode(to encoder: any Encoder) throws {
    try pixels.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(frameDelays, forKey: .frameDelays)
  }
}

/// What is computed from the pixels of a picture. Checked as far as its form goes, because it may come
/// from a decoder that a picture controls.
package struct PixelFacts: Hashable, Sendable {
  /// A colour that makes up a part of the picture. In JSON it is written as in CSS.
  package struct Colour: Hashable, Sendable {
    package let colour: RGBColour
    /// Of the opaque pixels, above 0 and up to 1.
    package let share: Double

    package init(_ colour: RGBColour, share: Double) {
      (self.colour, self.share) = (colour, share)
    }
  }

  package static let maximumColourCount = 6

  package let thumbHash: ThumbHash
  package let blurHash: BlurHash
  /// The most frequent first; none of a picture without opaque pixels.
  package let palette: [Colour]

  /// - Returns: `nil` for more colours than ``maximumColourCount``, and for shares that are none.
  package init?(thumbHash: ThumbHash, blurHash: BlurHash, palette: [Colour]) {
    let shares = palette.map(\.share)
    guard palette.count <= Self.maximumColourCount, shares.allSatisfy({ $0 > 0 && $0 <= 1 }),
      // They may have been rounded.
      shares.reduce(0, +) < 1.001, shares == shares.sorted(by: >)
    else { return nil }
    (self.thumbHash, self.blurHash, self.palette) = (thumbHash, blurHash, palette)
  }

  /// The most frequent colour.
  package var dominant: RGBColour? { palette.first?.colour }
}

extension PixelFacts: Codable {
  private enum CodingKeys: String, CodingKey {
    case thumbHash = "thumbhash"
    case blurHash = "blurhash"
    case dominant = "dominant_colour"
    case palette
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard
      let facts = PixelFacts(
        thumbHash: try container.decode(ThumbHash.self, forKey: .thumbHash),
        blurHash: try container.decode(BlurHash.self, forKey: .blurHash),
        palette: try container.decode([Colour].self, forKey: .palette))
    else {
      throw DecodingError.dataCorruptedError(
        forKey: .palette, in: container, debugDescription: "not the colours of a picture")
    }
    self = facts
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(thumbHash, forKey: .thumbHash)
    try container.encode(blurHash, forKey: .blurHash)
    try container.encodeIfPresent(dominant?.cssText, forKey: .dominant)
    try container.encode(palette, forKey: .palette)
  }
}

extension PixelFacts.Colour: Codable {
  private enum CodingKeys: String, CodingKey {
    case colour, share
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard let colour = RGBColour(try container.decode(String.self, forKey: .colour)) else {
      throw DecodingError.dataCorruptedError(
        forKey: .colour, in: container, debugDescription: "not a colour")
    }
    self.init(colour, share: try container.decode(Double.self, forKey: .share))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(colour.cssText, forKey: .colour)
    try container.encode(share, forKey: .share)
  }
}

/// A placeholder of 28 characters (BlurHash by Wolt): 4 × 3 frequencies of each colour. Checked as far
/// as its form goes, because it may come from a decoder that a picture controls.
package struct BlurHash: Hashable, Sendable {
  package static let columnCount = 4
  package static let rowCount = 3
  package static let digits = Array(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~")
  /// The size, the greatest frequency, the average, and two digits for each other frequency.
  private static let digitCount = 2 + averageDigitCount + 2 * (columnCount * rowCount - 1)
  private static let averageDigitCount = 4
  /// Of a frequency: 19 steps for each colour.
  private static let frequencyCount = 19 * 19 * 19

  package let text: String

  /// - Returns: `nil` if no BlurHash of that size is such a text.
  package init?(_ text: String) {
    // Longer texts are not even split into digits.
    guard text.utf8.count == Self.digitCount else { return nil }
    let numbers = text.compactMap { Self.digits.firstIndex(of: $0) }
    guard numbers.count == Self.digitCount,
      numbers[0] == Self.columnCount - 1 + (Self.rowCount - 1) * 9
    else { return nil }
    let number = { (digits: ArraySlice<Int>) in digits.reduce(0) { $0 * Self.digits.count + $1 } }
    let details = 2 + Self.averageDigitCount
    guard number(numbers[2..<details]) <= 0xFF_FFFF,
      stride(from: details, to: numbers.count, by: 2).allSatisfy({
        number(numbers[$0...$0 + 1]) < Self.frequencyCount
      })
    else { return nil }
    self.text = text
  }
}

extension BlurHash: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let hash = BlurHash(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a BlurHash")
    }
    self = hash
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

/// A placeholder of a picture in at most 25 bytes (ThumbHash by Evan Wallace): its lowest frequencies,
/// from which a client draws a blurred picture before the thumbnail is there.
///
/// The bytes are checked as far as their form goes: they may come from a decoder that a picture
/// controls. In JSON they are base64 text.
package struct ThumbHash: Hashable, Sendable {
  package static let maximumByteCount = 25
  /// Red, green and blue, the shape, and the scales of the frequencies.
  private static let headerByteCount = 5
  /// The frequencies of each colour difference, and of transparency, but for their averages.
  private static let colourFrequencyCount = 5
  private static let alphaFrequencyCount = 14

  package let bytes: [UInt8]

  /// - Returns: `nil` if no ThumbHash has that form: the first bytes tell how many there are.
  package init?(bytes: [UInt8]) {
    guard bytes.count > Self.headerByteCount, let nibbleCount = Self.nibbleCount(bytes) else {
      return nil
    }
    let start = Self.headerByteCount + (Self.hasAlpha(bytes) ? 1 : 0)
    guard bytes.count == start + (nibbleCount + 1) / 2,
      nibbleCount.isMultiple(of: 2) || bytes[bytes.count - 1] < 16
    else { return nil }
    self.bytes = bytes
  }

  /// In base64.
  package var text: String { Data(bytes).base64EncodedString() }

  private static func hasAlpha(_ bytes: [UInt8]) -> Bool { bytes[2] & 0x80 != 0 }

  /// The frequencies behind the header, 4 bits each; `nil` for a shape that no picture has.
  private static func nibbleCount(_ bytes: [UInt8]) -> Int? {
    let longest = hasAlpha(bytes) ? 5 : 7
    let shortest = Int(bytes[3] & 7)
    guard (1...longest).contains(shortest) else { return nil }
    // The sides change places in a landscape, and the number of frequencies may change with them.
    let isLandscape = bytes[4] & 0x80 != 0
    let (columns, rows) = isLandscape ? (longest, max(3, shortest)) : (max(3, shortest), longest)
    let luminance = frequencyCount(columns: columns, rows: rows) - 1
    return luminance + 2 * colourFrequencyCount + (hasAlpha(bytes) ? alphaFrequencyCount : 0)
  }

  /// Those below a diagonal.
  private static func frequencyCount(columns: Int, rows: Int) -> Int {
    (0..<rows).map { row in
      (0..<columns).count { $0 * rows < columns * (rows - row) }
    }.reduce(0, +)
  }
}

extension ThumbHash: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let data = Data(base64Encoded: try container.decode(String.self)),
      let hash = ThumbHash(bytes: Array(data))
    else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a ThumbHash")
    }
    self = hash
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
