/// What a thumbnail shows of its picture, and how it is encoded. The picture's name and the variant
/// together are the key of a stored thumbnail: equal variants share it, unequal variants never do.
///
/// A value may be out of range; then a load fails with the code `invalid_request` and says what the range is.
public struct ImageVariant: Hashable, Sendable {
  /// How the picture is scaled to the box.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Mode: String, Hashable, CaseIterable, Sendable, Codable {
    /// Keeps the aspect ratio and scales to the largest size inside the box.
    case fit
    /// Keeps the aspect ratio and scales to the smallest size that covers the box. With a crop, a part of it
    /// is cropped to the box.
    case fill
    /// As ``fill`` with a crop, which is the centre if there is none. Where the picture is smaller than
    /// the box, the part that is cropped has the aspect ratio of the box.
    case fillDown = "fill-down"
    /// ``fill`` if picture and box have the same orientation, ``fit`` if they do not. A square has
    /// that of a landscape.
    case auto
    /// Scales to the box and ignores the aspect ratio.
    case stretch
    /// As ``stretch``, but where the picture is smaller than the box, the thumbnail has the aspect
    /// ratio of the box.
    case stretchDown = "stretch-down"
    /// Keeps the size of the picture. What is larger than the box is scaled as by ``fit``.
    case ownSize = "own-size"

    /// Whether a picture may be scaled to more than the box, so that there is something to crop.
    package var coversBox: Bool {
      switch self {
      case .fill, .fillDown, .auto: true
      case .fit, .stretch, .stretchDown, .ownSize: false
      }
    }
  }

  /// The encoding of a thumbnail.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Format: String, Hashable, CaseIterable, Sendable, Codable {
    /// WebP for animations and for pictures with transparency, JPEG for all others.
    case auto
    /// JPEG. Transparent pixels become white, or ``ImageVariant/Effects/background``.
    case jpeg
    /// PNG, without loss.
    case png
    /// WebP, still or animated.
    case webp
    /// AVIF.
    case avif
    /// GIF, still or animated.
    case gif
    /// What every program reads: GIF for animations, PNG for pictures with transparency, JPEG for all
    /// others.
    case compatible

    /// The thumbnail encoding of an image format; `nil` if thumbnails cannot have that format.
    package init?(_ format: ImageFormat) {
      self.init(rawValue: format.rawValue)
    }

    /// Whether a thumbnail in it can have several frames.
    package var holdsAnimation: Bool {
      switch self {
      case .auto, .compatible, .webp, .gif: true
      case .jpeg, .png, .avif: false
      }
    }
  }

  /// The width of the box in pixels, from 1 to 16,383.
  public var width: Int
  /// The height of the box in pixels, from 1 to 16,383.
  public var height: Int
  /// How the picture is scaled to the box.
  public var mode: Mode
  /// What a mode that covers the box crops to it; `nil` if the thumbnail shows the whole picture.
  public var crop: Crop?
  /// Whether a picture that is smaller than the box becomes larger. A drawing (SVG) has no pixels, and
  /// becomes larger in any case.
  public var enlarges: Bool
  /// What the box means beside the mode.
  package var sizing = Sizing.standard
  /// The encoding.
  public var format: Format
  /// The encoder's quality, 1 to 100. PNG and GIF are lossless and ignore it.
  public var quality: Int
  /// Which frames of an animation, or pages of a document, the thumbnail shows.
  public var frames: Frames
  /// Whether it is made from the preview that a camera put into the file.
  package var embeddedUse = EmbeddedUse.auto
  /// What is done to the pixels after they have their size.
  public var effects: Effects
  /// What it keeps of the file beside the pixels.
  public var keptData: KeptData

  /// The range of ``width`` and ``height``. 16,383 is the maximum of WebP (RFC 9649 section 3.4), so
  /// every format can encode every box.
  package static let sideRange = 1...16_383
  package static let qualityRange = 1...100

  /// The side of the box of ``standard``: 256 pixels.
  public static let standardSize = 256
  /// Fits 256 × 256 pixels in the automatic format with quality 80, as `imgctl` does without options.
  public static let standard = ImageVariant(size: standardSize)

  /// A box of given sides.
  public init(
    width: Int, height: Int, mode: Mode = .fit, crop: Crop? = nil, enlarges: Bool = false,
    format: Format = .auto, quality: Int = 80, frames: Frames = .first, effects: Effects = .none,
    keptData: KeptData = .none
  ) {
    self.width = width
    self.height = height
    self.mode = mode
    self.crop = crop
    self.enlarges = enlarges
    self.format = format
    self.quality = quality
    self.frames = frames
    self.effects = effects
    self.keptData = keptData
  }

  /// A square box.
  public init(size: Int, mode: Mode = .fit, crop: Crop? = nil, format: Format = .auto) {
    self.init(width: size, height: size, mode: mode, crop: crop, format: format)
  }

  /// The sides of the largest thumbnail that the box has room for, in pixels. A mode that covers the box
  /// without a crop may give a larger one.
  package var largestWidth: Int { pixels(width) }
  package var largestHeight: Int { pixels(height) }

  private func pixels(_ side: Int) -> Int {
    // The box of a picture in its own size is the limit of the result.
    guard sizing.density != .one, mode != .ownSize else { return side }
    return max(1, Int((Double(side) * sizing.density.value).rounded()))
  }

  /// The text of a variant that is hashed into the store key. Changing it makes stored thumbnails
  /// unreachable, so what is not the default is appended, and the default is not mentioned.
  package var canonicalText: String {
    let shown =
      switch crop {
      case nil: "whole"
      case .centre: "crop"
      case let crop?: "crop=\(crop)"
      }
    var text = "\(width)x\(height),\(mode.rawValue),\(shown),\(format.rawValue),q\(quality)"
    if enlarges { text += ",enlarge" }
    for rule in sizing.canonicalTexts { text += ",\(rule)" }
    if let frames = frames.canonicalText { text += ",\(frames)" }
    if let embeddedUse = embeddedUse.canonicalText { text += ",\(embeddedUse)" }
    for effect in effects.canonicalTexts { text += ",\(effect)" }
    for kept in keptData.canonicalTexts { text += ",\(kept)" }
    return text
  }
}

/// A variant in range, in the form that equal variants share.
package typealias Variant = Checked<ImageVariant>

extension ImageVariant: Checkable {
  /// - Throws: ``VariantError`` if a number is out of range, also that of a side with its density, if
  ///   there is a crop in a mode that does not cover the box and has nothing to crop, or if the format
  ///   cannot hold all frames.
  package func checked() throws(VariantError) -> ImageVariant {
    guard [width, height].allSatisfy(Self.sideRange.contains) else { throw .sideOutOfRange }
    guard sizing.isInRange else { throw .sizingOutOfRange }
    guard [largestWidth, largestHeight].allSatisfy(Self.sideRange.contains) else {
      throw .sideOutOfRange
    }
    guard Self.qualityRange.contains(quality) else { throw .qualityOutOfRange }
    guard crop == nil || mode.coversBox else { throw .cropWithoutFill }
    guard crop?.isInRange != false else { throw .cropOutOfRange }
    guard frames != .all || format.holdsAnimation else { throw .stillFormat(format) }
    guard frames.isInRange else { throw .frameOutOfRange }
    guard effects.isInRange else { throw .effectOutOfRange }
    var variant = self
    if mode == .fillDown { variant.crop = crop ?? .centre }
    variant.frames = frames.inMilliseconds
    if effects.sharpen == .zero { variant.effects.sharpenAmounts = .standard }
    // The metadata have the copyright.
    if keptData.metadata { variant.keptData.copyright = false }
    return variant
  }
}

extension Checked where Value == ImageVariant {
  package static var standard: Variant { Checked(unchecked: .standard) }

  /// The variant as it is used for all frames of an animation: cropped at one place, which is its
  /// centre where each frame would have its own, and without data of the file.
  package var ofAnimation: Variant {
    var variant = value
    switch variant.crop {
    case .attention, .entropy: variant.crop = .centre
    case nil, .centre, .point: break
    }
    variant.keptData = .none
    return Checked(unchecked: variant)
  }

  /// The variant of a file that names neither an author nor rights.
  package var withoutCopyright: Variant {
    var variant = value
    variant.keptData.copyright = false
    return Checked(unchecked: variant)
  }
}

/// The reason why a variant is invalid.
package enum VariantError: Error, Equatable, CustomStringConvertible {
  case sideOutOfRange
  case qualityOutOfRange
  case cropWithoutFill
  case cropOutOfRange
  case frameOutOfRange
  case effectOutOfRange
  case sizingOutOfRange
  /// The format holds one frame, and all are wanted.
  case stillFormat(ImageVariant.Format)

  package var description: String {
    switch self {
    case .sideOutOfRange:
      "width and height must be from 1 to 16383 pixels"
    case .qualityOutOfRange:
      "the quality must be from 1 to 100"
    case .cropWithoutFill:
      "a crop needs the mode fill, fill-down or auto, because other modes have nothing to crop"
    case .cropOutOfRange:
      "the point of a crop is from 0,0 to 1,1"
    case .frameOutOfRange:
      "a frame has a number from 0 to \(ImageVariant.Frames.numberRange.upperBound), and a time of at "
        + "most one day"
    case .effectOutOfRange:
      "blur and sharpen must be from 0 to \(ImageVariant.Effects.sigmaRange.upperBound), the radius from "
        + "0 to \(ImageVariant.Effects.radiusRange.upperBound) pixels"
    case .sizingOutOfRange:
      "a density must be more than 0 and at most \(Sizing.densityRange.upperBound), and a limit of "
        + "pixels more than 0"
    case .stillFormat(let format):
      "\(format.rawValue) holds no animation; all frames need the format auto, webp or gif"
    }
  }
}

/// JSON, for messages and the journal. What is the default is left out.
extension ImageVariant: Codable {
  private enum CodingKeys: String, CodingKey {
    case width, height, mode, crop
    case enlarges = "enlarge"
    case density
    case maximumPixelCount = "max_pixels"
    case keepsDrawingSize = "keep_drawing_size"
    case format, quality
    case frame
    case time = "at_ms"
    case isPoster = "poster"
    case isAnimated = "animated"
    case embeddedUse = "thumb"
    case isGrayscale = "grayscale"
    case blur, sharpen, radius, background
    case flatSharpen = "sharpen_flat"
    case edgeSharpen = "sharpen_edges"
    case keepsProfile = "keep_profile"
    case keepsMetadata = "keep_metadata"
    case keepsCopyright = "keep_copyright"
  }

  /// Decodes and does not check.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      width: try container.decode(Int.self, forKey: .width),
      height: try container.decode(Int.self, forKey: .height),
      mode: try container.decode(Mode.self, forKey: .mode),
      crop: try Self.crop(in: container),
      enlarges: try Self.flag(.enlarges, in: container),
      format: try container.decode(Format.self, forKey: .format),
      quality: try container.decode(Int.self, forKey: .quality),
      frames: try Self.frames(in: container),
      effects: try Self.effects(in: container),
      keptData: KeptData(
        profile: try Self.flag(.keepsProfile, in: container),
        metadata: try Self.flag(.keepsMetadata, in: container),
        copyright: try Self.flag(.keepsCopyright, in: container)))
    embeddedUse = try container.decodeIfPresent(EmbeddedUse.self, forKey: .embeddedUse) ?? .auto
    sizing = Sizing(
      density: try Self.text(.density, in: container) ?? .one,
      maximumPixelCount: try container.decodeIfPresent(Int.self, forKey: .maximumPixelCount),
      keepsDrawingSize: try Self.flag(.keepsDrawingSize, in: container))
  }

  /// Leaves out what is the default.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(width, forKey: .width)
    try container.encode(height, forKey: .height)
    try container.encode(mode, forKey: .mode)
    try container.encodeIfPresent(crop?.description, forKey: .crop)
    try Self.encode(enlarges, as: .enlarges, to: &container)
    if sizing != .standard { try encodeSizing(to: &container) }
    try container.encode(format, forKey: .format)
    try container.encode(quality, forKey: .quality)
    try encodeFrames(to: &container)
    if embeddedUse != .auto { try container.encode(embeddedUse, forKey: .embeddedUse) }
    try encodeEffects(to: &container)
    try Self.encode(keptData.profile, as: .keepsProfile, to: &container)
    try Self.encode(keptData.metadata, as: .keepsMetadata, to: &container)
    try Self.encode(keptData.copyright, as: .keepsCopyright, to: &container)
  }

  private func encodeSizing(to container: inout KeyedEncodingContainer<CodingKeys>) throws {
    if sizing.density != .one {
      try container.encode(sizing.density.description, forKey: .density)
    }
    try container.encodeIfPresent(sizing.maximumPixelCount, forKey: .maximumPixelCount)
    try Self.encode(sizing.keepsDrawingSize, as: .keepsDrawingSize, to: &container)
  }

  private func encodeFrames(to container: inout KeyedEncodingContainer<CodingKeys>) throws {
    switch frames {
    case .first: break
    case .number(let number): try container.encode(number, forKey: .frame)
    case .time(let time): try container.encode(time.milliseconds, forKey: .time)
    case .poster: try container.encode(true, forKey: .isPoster)
    case .all: try container.encode(true, forKey: .isAnimated)
    }
  }

  private func encodeEffects(to container: inout KeyedEncodingContainer<CodingKeys>) throws {
    try Self.encode(effects.isGrayscale, as: .isGrayscale, to: &container)
    if effects.blur != .zero { try container.encode(effects.blur.description, forKey: .blur) }
    if effects.sharpen != .zero {
      try container.encode(effects.sharpen.description, forKey: .sharpen)
    }
    if effects.sharpenAmounts != .standard {
      try container.encode(effects.sharpenAmounts.flat.description, forKey: .flatSharpen)
      try container.encode(effects.sharpenAmounts.edges.description, forKey: .edgeSharpen)
    }
    if effects.radius != 0 { try container.encode(effects.radius, forKey: .radius) }
    try container.encodeIfPresent(effects.background?.description, forKey: .background)
  }

  // MARK: - Values that may be left out

  private static func flag(
    _ key: CodingKeys, in container: KeyedDecodingContainer<CodingKeys>
  ) throws -> Bool {
    try container.decodeIfPresent(Bool.self, forKey: key) ?? false
  }

  private static func encode(
    _ flag: Bool, as key: CodingKeys, to container: inout KeyedEncodingContainer<CodingKeys>
  ) throws {
    if flag { try container.encode(true, forKey: key) }
  }

  private static func text<Text: LosslessStringConvertible>(
    _ key: CodingKeys, in container: KeyedDecodingContainer<CodingKeys>
  ) throws -> Text? {
    guard let text = try container.decodeIfPresent(String.self, forKey: key) else { return nil }
    guard let value = Text(text) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: container, debugDescription: "\(text) is no \(key.rawValue)")
    }
    return value
  }

  /// Earlier journals have a Boolean.
  private static func crop(in container: KeyedDecodingContainer<CodingKeys>) throws -> Crop? {
    if let isCropped = try? container.decode(Bool.self, forKey: .crop) {
      return isCropped ? .centre : nil
    }
    return try text(.crop, in: container)
  }

  private static func effects(
    in container: KeyedDecodingContainer<CodingKeys>
  ) throws -> Effects {
    var effects = Effects(
      isGrayscale: try flag(.isGrayscale, in: container),
      blur: try text(.blur, in: container) ?? .zero,
      sharpen: try text(.sharpen, in: container) ?? .zero,
      radius: try container.decodeIfPresent(Int.self, forKey: .radius) ?? 0,
      background: try text(.background, in: container))
    effects.sharpenAmounts = SharpenAmounts(
      flat: try text(.flatSharpen, in: container) ?? SharpenAmounts.standard.flat,
      edges: try text(.edgeSharpen, in: container) ?? SharpenAmounts.standard.edges)
    return effects
  }

  private static func frames(
    in container: KeyedDecodingContainer<CodingKeys>
  ) throws -> Frames {
    let found: [Frames?] = [
      try container.decodeIfPresent(Int.self, forKey: .frame).map { .number($0) },
      try container.decodeIfPresent(Int64.self, forKey: .time).map { .time(.milliseconds($0)) },
      try flag(.isPoster, in: container) ? .poster : nil,
      try flag(.isAnimated, in: container) ? .all : nil,
    ]
    let selections = found.compactMap(\.self)
    guard selections.count <= 1 else {
      throw DecodingError.dataCorruptedError(
        forKey: .frame, in: container, debugDescription: "a variant selects frames in one way")
    }
    return selections.first ?? .first
  }
}

/// The variants beside the first that a request has. In JSON they are left out where there are none.
@propertyWrapper
package struct OtherVariants: Hashable, Sendable {
  package var wrappedValue: [Variant]

  package init(wrappedValue: [Variant]) {
    self.wrappedValue = wrappedValue
  }
}

extension ImageVariant {
  /// All variants of a request together.
  package static let maximumCount = 8
}

extension OtherVariants: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self.init(wrappedValue: try container.decode([Variant].self))
    guard wrappedValue.count < ImageVariant.maximumCount else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription: "a request has at most \(ImageVariant.maximumCount) variants")
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

// Synthesised coding calls these instead of the generic methods, which would require the key and
// write an empty list.

extension KeyedDecodingContainer {
  package func decode(_ type: OtherVariants.Type, forKey key: Key) throws -> OtherVariants {
    try decodeIfPresent(OtherVariants.self, forKey: key) ?? OtherVariants(wrappedValue: [])
  }
}

extension KeyedEncodingContainer {
  package mutating func encode(_ value: OtherVariants, forKey key: Key) throws {
    try encodeIfPresent(value.wrappedValue.isEmpty ? nil : value, forKey: key)
  }
}
