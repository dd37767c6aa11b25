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

    /// Whether a thumbnail in it can have samples of more than 8 bits.
    package var holdsWideSamples: Bool {
      switch self {
      case .auto, .compatible, .png, .avif: true
      case .jpeg, .webp, .gif: false
      }
    }
  }

  /// How many bits a sample of a thumbnail may have.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Depth: Int, Hashable, CaseIterable, Sendable, Codable {
    /// 8 bits.
    case eight = 8
    /// As many as picture and format have: up to 16 in PNG, 12 in AVIF. Of a picture with more than 8 bits,
    /// ``Format/auto`` and ``Format/compatible`` give a PNG. A picture of 8 bits gives the thumbnail that it
    /// gives with ``eight``; so do posters and frames of animated PNGs. JPEG, WebP and GIF hold 8 bits and are refused.
    case sixteen = 16
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
  /// How many bits a sample may have.
  public var depth: Depth
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
    format: Format = .auto, quality: Int = 80, depth: Depth = .eight, frames: Frames = .first,
    effects: Effects = .none, keptData: KeptData = .none
  ) {
    self.width = width
    self.height = height
    self.mode = mode
    self.crop = crop
    self.enlarges = enlarges
    self.format = format
    self.quality = quality
    self.depth = depth
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

  /// The longest side of what is inside the padding, in pixels.
  package var longestSide: Int { Self.sideRange.upperBound - 2 * effects.padding }

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
    if depth != .eight { text += ",depth=\(depth.rawValue)" }
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
  ///   cannot hold all frames or the depth.
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
    if depth != .eight {
      guard format.holdsWideSamples else { throw .shallowFormat(format) }
      guard frames != .all else { throw .shallowAnimation }
    }
    guard frames.isInRange else { throw .frameOutOfRange }
    guard effects.isInRange else { throw .effectOutOfRange }
    guard Effects.paddingRange.contains(effects.padding),
      max(largestWidth, largestHeight) <= longestSide
    else { throw .paddingOutOfRange }
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

  /// The variant of a picture whose samples have 8 bits.
  package var inEightBits: Variant {
    var variant = value
    variant.depth = .eight
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
  case paddingOutOfRange
  case sizingOutOfRange
  /// The format holds one frame, and all are wanted.
  case stillFormat(ImageVariant.Format)
  /// The format holds 8 bits a sample, and more are wanted.
  case shallowFormat(ImageVariant.Format)
  case shallowAnimation

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
    case .paddingOutOfRange:
      "the padding must be from 0 to \(ImageVariant.Effects.paddingRange.upperBound) pixels, and the sides "
        + "with it at most \(ImageVariant.sideRange.upperBound)"
    case .sizingOutOfRange:
      "a density must be more than 0 and at most \(Sizing.densityRange.upperBound), and a limit of "
        + "pixels more than 0"
    case .stillFormat(let format):
      "\(format.rawValue) holds no animation; all frames need the format auto, webp or gif"
    case .shallowFormat(let format):
      "\(format.rawValue) holds 8 bits a sample; a depth of 16 needs the format auto, compatible, png or avif"
    case .shallowAnimation:
      "an animation has 8 bits a sample; a depth of 16 is for one frame"
    }
  }
}

extension ImageVariant {
  /// All variants of a request together.
  package static let maximumCount = 8
}

@_spi(Coding) extension ImageVariant.Mode: FieldValue {}
@_spi(Coding) extension ImageVariant.Format: FieldValue {}
@_spi(Coding) extension ImageVariant.Depth: FieldValue {}

/// JSON, for messages and the journal. What is the default is left out.
extension ImageVariant: Codable {}

@_spi(Coding) extension ImageVariant: Fielded {
  /// Reads and does not check.
  public init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    let isAnimated = try f.field("animated", value.map { $0.frames == .all }, default: false)
    let time = try f.optional("at_ms", value?.frames.time)
    effects = value?.effects ?? .none
    effects.background = try f.optional("background", value?.effects.background)
    effects.blur = try f.field("blur", value?.effects.blur, default: .zero)
    crop = try Self.crop(&f, value)
    let density = try f.field("density", value?.sizing.density, default: .one)
    depth = try f.field("depth", value?.depth, default: .eight)
    enlarges = try f.field("enlarge", value?.enlarges, default: false)
    format = try f.field("format", value?.format)
    let number = try f.optional("frame", value?.frames.number)
    effects.isGrayscale = try f.field("grayscale", value?.effects.isGrayscale, default: false)
    height = try f.field("height", value?.height)
    keptData = .none
    keptData.copyright = try f.field(
      "keep_copyright", value?.keptData.copyright, default: false)
    let keepsDrawingSize = try f.field(
      "keep_drawing_size", value?.sizing.keepsDrawingSize, default: false)
    keptData.metadata = try f.field("keep_metadata", value?.keptData.metadata, default: false)
    keptData.profile = try f.field("keep_profile", value?.keptData.profile, default: false)
    let maximumPixelCount = try f.optional("max_pixels", value?.sizing.maximumPixelCount)
    mode = try f.field("mode", value?.mode)
    effects.padding = try f.field("padding", value?.effects.padding, default: 0)
    let isPoster = try f.field("poster", value.map { $0.frames == .poster }, default: false)
    quality = try f.field("quality", value?.quality)
    effects.radius = try f.field("radius", value?.effects.radius, default: 0)
    effects.sharpen = try f.field("sharpen", value?.effects.sharpen, default: .zero)
    // Both or none are written.
    let amounts = value.flatMap {
      $0.effects.sharpenAmounts == .standard ? nil : $0.effects.sharpenAmounts
    }
    let edges = try f.optional("sharpen_edges", amounts?.edges)
    let flat = try f.optional("sharpen_flat", amounts?.flat)
    effects.sharpenAmounts = SharpenAmounts(
      flat: flat ?? SharpenAmounts.standard.flat, edges: edges ?? SharpenAmounts.standard.edges)
    embeddedUse = try f.field("thumb", value?.embeddedUse, default: .auto)
    width = try f.field("width", value?.width)
    sizing = Sizing(
      density: density, maximumPixelCount: maximumPixelCount, keepsDrawingSize: keepsDrawingSize)
    let selections: [Frames] = [
      number.map { .number($0) }, time.map { .time($0) }, isPoster ? .poster : nil,
      isAnimated ? .all : nil,
    ].compactMap(\.self)
    guard selections.count <= 1 else {
      throw f.invalid("frame", "a variant selects frames in one way")
    }
    frames = selections.first ?? .first
  }

  /// Earlier journals have a Boolean.
  private static func crop(
    _ f: inout Fields, _ value: ImageVariant?
  ) throws(FieldError) -> Crop? {
    guard value == nil, let isCropped = f.optionalBool("crop") else {
      return try f.optional("crop", value?.crop)
    }
    return isCropped ? .centre : nil
  }
}
