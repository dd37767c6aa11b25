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
