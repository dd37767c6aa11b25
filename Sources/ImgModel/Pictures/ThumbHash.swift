internal import FoundationEssentials

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
