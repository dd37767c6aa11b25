/// What is to be made of a picture: the part of a request that, with the URL, names a thumbnail.
///
/// Two requests with equal variants share one stored thumbnail; unequal ones never do.
package struct Variant: Hashable, Sendable, Codable {
  /// How a picture's shape meets the box.
  package enum Mode: String, CaseIterable, Sendable, Codable {
    /// The largest picture of the source's shape inside the box.
    case fit
    /// The smallest picture of the source's shape that covers the box. With `isCropped`, what
    /// sticks out is cut off, centred.
    case fill
    /// The box itself; the source's shape gives way.
    case stretch
  }

  /// The encoding of the thumbnail.
  package enum Format: String, CaseIterable, Sendable, Codable {
    /// JPEG when the picture is opaque, WebP when it has transparency.
    case auto
    case jpeg, png, webp, avif

    /// The encoding of a thumbnail in this format; `nil` for a format that thumbnails do not have.
    package init?(_ format: ImageFormat) {
      self.init(rawValue: format.rawValue)
    }
  }

  /// The box, in pixels, each in ``sideRange``.
  package let width: Int
  package let height: Int
  package let mode: Mode
  /// Whether `fill` cuts off what sticks out of the box.
  package let isCropped: Bool
  package let format: Format
  /// The encoder's quality, 1…100. PNG is lossless and ignores it.
  package let quality: Int

  /// The range of `width` and `height`: 16,383 is the most that WebP can hold (RFC 9649
  /// section 3.4), so any box can be written in any format.
  package static let sideRange = 1...16_383
  package static let qualityRange = 1...100

  /// What a request gets that says nothing: fits 256 × 256, format by transparency, quality 80.
  package static let standard = Variant(
    uncheckedWidth: 256, height: 256, mode: .fit, isCropped: false, format: .auto, quality: 80)

  /// - Throws: ``VariantError`` when a number is out of its range, or a crop is asked for in
  ///   another mode than `fill`, where there is nothing to cut.
  package init(
    width: Int, height: Int, mode: Mode = .fit, isCropped: Bool = false, format: Format = .auto,
    quality: Int = 80
  ) throws(VariantError) {
    guard Self.sideRange.contains(width), Self.sideRange.contains(height) else {
      throw .sideOutOfRange
    }
    guard Self.qualityRange.contains(quality) else { throw .qualityOutOfRange }
    guard !isCropped || mode == .fill else { throw .cropWithoutFill }
    self.init(
      uncheckedWidth: width, height: height, mode: mode, isCropped: isCropped, format: format,
      quality: quality)
  }

  private init(
    uncheckedWidth width: Int, height: Int, mode: Mode, isCropped: Bool, format: Format,
    quality: Int
  ) {
    self.width = width
    self.height = height
    self.mode = mode
    self.isCropped = isCropped
    self.format = format
    self.quality = quality
  }

  /// The same in another encoding.
  package func encoded(as format: Format) -> Variant {
    Variant(
      uncheckedWidth: width, height: height, mode: mode, isCropped: isCropped, format: format,
      quality: quality)
  }

  /// One spelling for each variant: the text that is hashed into a store key. Changing it makes
  /// every stored thumbnail unreachable.
  package var canonicalText: String {
    "\(width)x\(height),\(mode.rawValue),\(isCropped ? "crop" : "whole"),"
      + "\(format.rawValue),q\(quality)"
  }
}

/// Why numbers and words do not make a variant.
package enum VariantError: Error, Equatable, CustomStringConvertible {
  case sideOutOfRange
  case qualityOutOfRange
  case cropWithoutFill

  package var description: String {
    switch self {
    case .sideOutOfRange:
      "a width and a height are from 1 to 16383 pixels"
    case .qualityOutOfRange:
      "a quality is from 1 to 100"
    case .cropWithoutFill:
      "--crop cuts what sticks out of the box, so it goes with --mode fill"
    }
  }
}

extension Variant {
  private enum CodingKeys: String, CodingKey {
    case width, height, mode
    case isCropped = "crop"
    case format, quality
  }

  /// Decodes with the same checks as the initialiser, so that what comes off the wire is valid.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    try self.init(
      width: container.decode(Int.self, forKey: .width),
      height: container.decode(Int.self, forKey: .height),
      mode: container.decode(Mode.self, forKey: .mode),
      isCropped: container.decode(Bool.self, forKey: .isCropped),
      format: container.decode(Format.self, forKey: .format),
      quality: container.decode(Int.self, forKey: .quality))
  }
}
