/// What a thumbnail shows of its picture, and how it is encoded. The picture's name and the variant
/// together are the key of a stored thumbnail: equal variants share it, unequal variants never do.
package struct Variant: Hashable, Sendable {
  /// How the picture is scaled to the box.
  package enum Mode: String, CaseIterable, Sendable, Codable {
    /// Keeps the aspect ratio and scales to the largest size inside the box.
    case fit
    /// Keeps the aspect ratio and scales to the smallest size that covers the box. With a ``crop``,
    /// a part of it is cropped to the box.
    case fill
    /// As ``fill``, but where the picture is smaller than the box, the part that is cropped has the
    /// aspect ratio of the box. Without it, this is ``fill``, so it always has a ``crop``.
    case fillDown = "fill-down"
    /// ``fill`` if picture and box have the same orientation, ``fit`` if they do not. A square has
    /// that of a landscape.
    case auto
    /// Scales to the box and ignores the aspect ratio.
    case stretch
    /// As ``stretch``, but where the picture is smaller than the box, the thumbnail has the aspect
    /// ratio of the box.
    case stretchDown = "stretch-down"
    /// Keeps the size of the picture, or that size times ``Sizing/density``. What is larger than the
    /// box is scaled as by ``fit``.
    case ownSize = "own-size"

    /// Whether a picture may be scaled to more than the box, so that there is something to crop.
    package var coversBox: Bool {
      switch self {
      case .fill, .fillDown, .auto: true
      case .fit, .stretch, .stretchDown, .ownSize: false
      }
    }
  }

  /// The encoding of the thumbnail.
  package enum Format: String, CaseIterable, Sendable, Codable {
    /// WebP for animations and for pictures with transparency, JPEG for all others.
    case auto
    case jpeg, png, webp, avif, gif
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

  /// The box, in pixels, each in ``sideRange``.
  package private(set) var width: Int
  package private(set) var height: Int
  package let mode: Mode
  /// What a mode that covers the box crops to it; `nil` if the thumbnail shows the whole picture.
  package private(set) var crop: Crop?
  /// Whether a picture that is smaller than the box becomes larger. A drawing (SVG) has no pixels, and
  /// becomes larger in any case, see ``Sizing/keepsDrawingSize``.
  package let enlarges: Bool
  package let sizing: Sizing
  package private(set) var format: Format
  /// The encoder's quality, 1…100. PNG and GIF are lossless and ignore it.
  package let quality: Int
  package let frames: FrameSelection
  package let embeddedUse: EmbeddedUse
  package let effects: Effects
  package private(set) var keptData: KeptData

  /// The range of `width` and `height`. 16,383 is the maximum of WebP (RFC 9649 section 3.4), so
  /// every format can encode every box.
  package static let sideRange = 1...16_383
  package static let qualityRange = 1...100

  /// The default: fit 256 × 256, automatic format, quality 80.
  package static let standard = Variant(
    uncheckedWidth: 256, height: 256, mode: .fit, crop: nil, enlarges: false, format: .auto,
    quality: 80, frames: .first, embeddedUse: .auto, effects: .none, keptData: .none,
    sizing: .standard)

  /// - Parameter crop: the centre if it is `nil` and the mode is `fillDown`.
  /// - Throws: ``VariantError`` if a number is out of range, also that of a side with its density, if
  ///   there is a `crop` in a mode that does not cover the box and has nothing to crop, or if the format
  ///   cannot hold all frames.
  package init(
    width: Int, height: Int, mode: Mode = .fit, crop: Crop? = nil, enlarges: Bool = false,
    format: Format = .auto, quality: Int = 80, frames: FrameSelection = .first,
    embeddedUse: EmbeddedUse = .auto, effects: Effects = .none, keptData: KeptData = .none,
    sizing: Sizing = .standard
  ) throws(VariantError) {
    guard Self.sideRange.contains(width), Self.sideRange.contains(height) else {
      throw .sideOutOfRange
    }
    guard sizing.isInRange else { throw .sizingOutOfRange }
    guard Self.qualityRange.contains(quality) else { throw .qualityOutOfRange }
    guard crop == nil || mode.coversBox else { throw .cropWithoutFill }
    guard frames != .all || format.holdsAnimation else { throw .stillFormat(format) }
    guard frames.isInRange else { throw .frameOutOfRange }
    guard effects.isInRange else { throw .effectOutOfRange }
    self.init(
      uncheckedWidth: width, height: height, mode: mode,
      crop: crop ?? (mode == .fillDown ? .centre : nil), enlarges: enlarges,
      format: format, quality: quality, frames: frames, embeddedUse: embeddedUse,
      effects: effects, keptData: keptData, sizing: sizing)
    guard Self.sideRange.contains(largestWidth), Self.sideRange.contains(largestHeight) else {
      throw .sideOutOfRange
    }
  }

  private init(
    uncheckedWidth width: Int, height: Int, mode: Mode, crop: Crop?, enlarges: Bool,
    format: Format, quality: Int, frames: FrameSelection, embeddedUse: EmbeddedUse,
    effects: Effects, keptData: KeptData, sizing: Sizing
  ) {
    self.width = width
    self.height = height
    self.mode = mode
    self.crop = crop
    self.enlarges = enlarges
    self.format = format
    self.quality = quality
    self.frames = frames
    self.embeddedUse = embeddedUse
    self.effects = effects
    self.keptData = keptData
    self.sizing = sizing
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

  /// The variant in another box.
  ///
  /// - Throws: ``VariantError/sideOutOfRange``.
  package func inBox(width: Int, height: Int) throws(VariantError) -> Variant {
    var variant = self
    (variant.width, variant.height) = (width, height)
    guard
      [width, height, variant.largestWidth, variant.largestHeight]
        .allSatisfy(Self.sideRange.contains)
    else { throw .sideOutOfRange }
    return variant
  }

  /// The variant in another encoding; `nil` if that cannot hold its frames.
  package func encoded(as format: Format) -> Variant? {
    guard frames != .all || format.holdsAnimation else { return nil }
    var variant = self
    variant.format = format
    return variant
  }

  /// The variant as it is used for all frames of an animation: cropped at one place, which is its
  /// centre where each frame would have its own, and without data of the file.
  package var ofAnimation: Variant {
    var variant = self
    switch crop {
    case .attention, .entropy: variant.crop = .centre
    case nil, .centre, .point: break
    }
    variant.keptData = .none
    return variant
  }

  /// The variant of a file that names neither an author nor rights.
  package var withoutCopyright: Variant {
    guard keptData.copyright else { return self }
    var variant = self
    variant.keptData = KeptData(profile: keptData.profile, metadata: keptData.metadata)
    return variant
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

/// JSON, for messages and the journal. What is the default is left out.
extension Variant: Codable {
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

  /// Decodes and validates with the checks of the initialiser.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    try self.init(
      width: container.decode(Int.self, forKey: .width),
      height: container.decode(Int.self, forKey: .height),
      mode: container.decode(Mode.self, forKey: .mode),
      crop: Self.crop(in: container),
      enlarges: Self.flag(.enlarges, in: container),
      format: container.decode(Format.self, forKey: .format),
      quality: container.decode(Int.self, forKey: .quality),
      frames: Self.frames(in: container),
      embeddedUse: container.decodeIfPresent(EmbeddedUse.self, forKey: .embeddedUse) ?? .auto,
      effects: Effects(
        isGrayscale: Self.flag(.isGrayscale, in: container),
        blur: Self.text(.blur, in: container) ?? .zero,
        sharpen: Self.text(.sharpen, in: container) ?? .zero,
        sharpenAmounts: SharpenAmounts(
          flat: Self.text(.flatSharpen, in: container) ?? SharpenAmounts.standard.flat,
          edges: Self.text(.edgeSharpen, in: container) ?? SharpenAmounts.standard.edges),
        radius: container.decodeIfPresent(Int.self, forKey: .radius) ?? 0,
        background: Self.text(.background, in: container)),
      keptData: KeptData(
        profile: Self.flag(.keepsProfile, in: container),
        metadata: Self.flag(.keepsMetadata, in: container),
        copyright: Self.flag(.keepsCopyright, in: container)),
      sizing: Sizing(
        density: Self.text(.density, in: container) ?? .one,
        maximumPixelCount: container.decodeIfPresent(Int.self, forKey: .maximumPixelCount),
        keepsDrawingSize: Self.flag(.keepsDrawingSize, in: container)))
  }

  package func encode(to encoder: any Encoder) throws {
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
    case .time(let milliseconds): try container.encode(milliseconds, forKey: .time)
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

  private static func text<Value: LosslessStringConvertible>(
    _ key: CodingKeys, in container: KeyedDecodingContainer<CodingKeys>
  ) throws -> Value? {
    guard let text = try container.decodeIfPresent(String.self, forKey: key) else { return nil }
    guard let value = Value(text) else {
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

  private static func frames(
    in container: KeyedDecodingContainer<CodingKeys>
  ) throws -> FrameSelection {
    let found: [FrameSelection?] = [
      try container.decodeIfPresent(Int.self, forKey: .frame).map { .number($0) },
      try container.decodeIfPresent(Int.self, forKey: .time).map { .time($0) },
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

/// The reason why a variant is invalid.
package enum VariantError: Error, Equatable, CustomStringConvertible {
  case sideOutOfRange
  case qualityOutOfRange
  case cropWithoutFill
  case frameOutOfRange
  case effectOutOfRange
  case sizingOutOfRange
  /// The format holds one frame, and all are wanted.
  case stillFormat(Variant.Format)

  package var description: String {
    switch self {
    case .sideOutOfRange:
      "width and height must be from 1 to 16383 pixels"
    case .qualityOutOfRange:
      "the quality must be from 1 to 100"
    case .cropWithoutFill:
      "--crop needs --mode fill, fill-down or auto, because other modes have nothing to crop"
    case .frameOutOfRange:
      "a frame has a number from 0 to \(FrameSelection.numberRange.upperBound), and a time of at "
        + "most one day"
    case .effectOutOfRange:
      "blur and sharpen must be from 0 to \(Effects.sigmaRange.upperBound), the radius from 0 to "
        + "\(Effects.radiusRange.upperBound) pixels"
    case .sizingOutOfRange:
      "a density must be more than 0 and at most \(Sizing.densityRange.upperBound), and a limit of "
        + "pixels more than 0"
    case .stillFormat(let format):
      "\(format.rawValue) holds no animation; --animated needs --format auto, webp or gif"
    }
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

extension Variant {
  /// All variants of a request together.
  package static let maximumCount = 8
}

extension OtherVariants: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self.init(wrappedValue: try container.decode([Variant].self))
    guard wrappedValue.count < Variant.maximumCount else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription: "a request has at most \(Variant.maximumCount) variants")
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
