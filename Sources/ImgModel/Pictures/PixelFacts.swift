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
