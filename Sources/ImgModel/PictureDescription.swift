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

extension PictureDescription: Fielded {
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    let pixels = try PixelFacts(&f, value?.pixels)
    let frameDelays = try f.optional("frame_delays_ms", value?.frameDelays)
    guard let description = PictureDescription(pixels: pixels, frameDelays: frameDelays) else {
      throw f.invalid("frame_delays_ms", "not the delays of frames")
    }
    self = description
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

extension PixelFacts: Fielded {
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    let blurHash = try f.field("blurhash", value?.blurHash)
    // Programs read it. It is the first of the palette.
    try f.optional("dominant_colour", value?.dominant?.cssText)
    let palette = try f.field("palette", value?.palette)
    let thumbHash = try f.field("thumbhash", value?.thumbHash)
    guard let facts = PixelFacts(thumbHash: thumbHash, blurHash: blurHash, palette: palette) else {
      throw f.invalid("palette", "not the colours of a picture")
    }
    self = facts
  }
}

extension PixelFacts.Colour: Fielded {
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    let text = try f.field("colour", value?.colour.cssText)
    share = try f.field("share", value?.share)
    guard let colour = RGBColour(text) else { throw f.invalid("colour", "not a colour") }
    self.colour = colour
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

extension BlurHash: WrappingValue {
  package var coded: String { text }

  package init(coded text: String) throws {
    guard let hash = BlurHash(text) else { throw InvalidCoding("not a BlurHash") }
    self = hash
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

extension ThumbHash: WrappingValue {
  package var coded: String { text }

  package init(coded text: String) throws {
    guard let data = Data(base64Encoded: text), let hash = ThumbHash(bytes: Array(data)) else {
      throw InvalidCoding("not a ThumbHash")
    }
    self = hash
  }
}
