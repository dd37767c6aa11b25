/// The size and encoding of a thumbnail. The picture's name and the variant together are the key of a
/// stored thumbnail: equal variants share it, unequal variants never do.
package struct Variant: Hashable, Sendable, Codable {
  /// How the picture is scaled to the box.
  package enum Mode: String, CaseIterable, Sendable, Codable {
    /// Keeps the aspect ratio and scales to the largest size inside the box.
    case fit
    /// Keeps the aspect ratio and scales to the smallest size that covers the box. With `isCropped`,
    /// the centre is cropped to the box.
    case fill
    /// Scales to the box and ignores the aspect ratio.
    case stretch
  }

  /// The encoding of the thumbnail.
  package enum Format: String, CaseIterable, Sendable, Codable {
    /// JPEG for opaque pictures, WebP for pictures with transparency.
    case auto
    case jpeg, png, webp, avif

    /// The thumbnail encoding of an image format; `nil` if thumbnails cannot have that format.
    package init?(_ format: ImageFormat) {
      self.init(rawValue: format.rawValue)
    }
  }

  /// The box, in pixels, each in ``sideRange``.
  package let width: Int
  package let height: Int
  package let mode: Mode
  /// Whether `fill` crops the thumbnail to the box.
  package let isCropped: Bool
  package let format: Format
  /// The encoder's quality, 1…100. PNG is lossless and ignores it.
  package let quality: Int

  /// The range of `width` and `height`. 16,383 is the maximum of WebP (RFC 9649 section 3.4), so
  /// every format can encode every box.
  package static let sideRange = 1...16_383
  package static let qualityRange = 1...100

  /// The default: fit 256 × 256, automatic format, quality 80.
  package static let standard = Variant(
    uncheckedWidth: 256, height: 256, mode: .fit, isCropped: false, format: .auto, quality: 80)

  /// - Throws: ``VariantError`` if a number is out of range, or `isCropped` is set in a mode other
  ///   than `fill`, which has nothing to crop.
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

  /// The variant in another encoding.
  package func encoded(as format: Format) -> Variant {
    Variant(
      uncheckedWidth: width, height: height, mode: mode, isCropped: isCropped, format: format,
      quality: quality)
  }

  /// The text of a variant that is hashed into the store key. Changing it makes every stored
  /// thumbnail unreachable.
  package var canonicalText: String {
    "\(width)x\(height),\(mode.rawValue),\(isCropped ? "crop" : "whole"),"
      + "\(format.rawValue),q\(quality)"
  }
}

/// The reason why a variant is invalid.
package enum VariantError: Error, Equatable, CustomStringConvertible {
  case sideOutOfRange
  case qualityOutOfRange
  case cropWithoutFill

  package var description: String {
    switch self {
    case .sideOutOfRange:
      "width and height must be from 1 to 16383 pixels"
    case .qualityOutOfRange:
      "the quality must be from 1 to 100"
    case .cropWithoutFill:
      "--crop needs --mode fill, because other modes have nothing to crop"
    }
  }
}

extension Variant {
  private enum CodingKeys: String, CodingKey {
    case width, height, mode
    case isCropped = "crop"
    case format, quality
  }

  /// Decodes and validates with the checks of the initialiser.
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
