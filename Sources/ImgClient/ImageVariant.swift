package import ImgModel

/// What a thumbnail shows of its picture, and how it is encoded. Equal variants of one URL share a
/// thumbnail in the store.
///
/// A value may be out of range; then a load fails with ``ImageError/Code/invalidRequest`` and says what
/// the range is.
public struct ImageVariant: Hashable, Sendable {
  /// How the picture is scaled to the box.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Mode: String, Hashable, Sendable, CaseIterable {
    /// The largest size inside the box, in the picture's proportions.
    case fit
    /// The smallest size that covers the box, in the picture's proportions, see ``ImageVariant/crop``.
    case fill
    /// As ``fill`` with a crop, which is the centre if there is none. Where the picture is smaller than
    /// the box, its part has the proportions of the box.
    case fillDown = "fill-down"
    /// ``fill`` for a picture and a box that are both landscapes or both portraits, else ``fit``. A
    /// square is a landscape.
    case auto
    /// The size of the box.
    case stretch
    /// As ``stretch``. Where the picture is smaller than the box, the thumbnail has the proportions of
    /// the box.
    case stretchDown = "stretch-down"
    /// The size of the picture; what is larger than the box is made to fit.
    case ownSize = "own-size"
  }

  /// Which part of a picture stays where it covers more than the box.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Crop: Hashable, Sendable {
    /// The middle.
    case centre
    /// The part that people look at first.
    case attention
    /// The part with the most detail.
    case entropy
    /// The part around a point: from 0, the left or upper edge, to 1, the right or lower edge. Three
    /// decimals count.
    case point(x: Double, y: Double)
  }

  /// The encoding of a thumbnail.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Format: String, Hashable, Sendable, CaseIterable {
    /// WebP for animations and for pictures with transparency, JPEG for all others.
    case auto
    /// JPEG. Transparent pixels become white, or ``ImageVariant/background``.
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
  }

  /// Which frames of an animation, or pages of a document, a thumbnail shows.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Frames: Hashable, Sendable {
    /// The first one.
    case first
    /// One frame, counted from 0.
    case number(Int)
    /// The frame that is shown so long after the start, up to a day; whole milliseconds count.
    case time(Duration)
    /// The first frame that does not have one colour only.
    case poster
    /// All: the thumbnail is an animation, see ``Format/auto``.
    case all
  }

  /// A colour in sRGB.
  public struct Colour: Hashable, Sendable {
    /// The share of red, 0 to 255.
    public let red: UInt8
    /// The share of green, 0 to 255.
    public let green: UInt8
    /// The share of blue, 0 to 255.
    public let blue: UInt8

    /// A colour from its components.
    public init(red: UInt8, green: UInt8, blue: UInt8) {
      self.red = red
      self.green = green
      self.blue = blue
    }
  }

  /// The width of the box in pixels, from 1 to 16,383.
  public var width: Int
  /// The height of the box in pixels, from 1 to 16,383.
  public var height: Int
  /// How the picture is scaled to the box.
  public var mode: Mode
  /// What ``Mode/fill`` crops to the box, as do the modes that are based on it; `nil` crops nothing.
  public var crop: Crop?
  /// Whether a picture that is smaller than the box becomes larger. A drawing (SVG) does in any case.
  public var enlarges = false
  /// What the box means beside the mode.
  package var sizing = Sizing.standard
  /// The encoding.
  public var format: Format
  /// The encoder's quality, 1 to 100. PNG and GIF have none.
  public var quality = 80
  /// Which frames of an animation the thumbnail shows.
  public var frames = Frames.first
  /// Whether it has no colours.
  public var isGrayscale = false
  /// The standard deviation of a Gaussian blur in pixels of the thumbnail, 0 to 100; three decimals
  /// count.
  public var blur = 0.0
  /// The standard deviation of an unsharp mask in pixels of the thumbnail, 0 to 100; three decimals
  /// count.
  public var sharpen = 0.0
  /// How much the unsharp mask adds.
  package var sharpenAmounts = SharpenAmounts.standard
  /// The radius of the corners in pixels of the thumbnail.
  public var cornerRadius = 0
  /// What is behind transparent pixels; `nil` leaves them transparent where the format can.
  public var background: Colour?
  /// Whether the colours stay those of the picture, with its profile; otherwise they become sRGB.
  public var keepsProfile = false
  /// Whether EXIF, XMP and IPTC data are copied. They may tell where a photograph was taken.
  public var keepsMetadata = false
  /// Whether the author and the rights in these data are copied, as EXIF.
  public var keepsCopyright = false

  /// A box of given sides.
  public init(
    width: Int, height: Int, mode: Mode = .fit, crop: Crop? = nil, format: Format = .auto
  ) {
    self.width = width
    self.height = height
    self.mode = mode
    self.crop = crop
    self.format = format
  }

  /// A square box.
  public init(size: Int, mode: Mode = .fit, crop: Crop? = nil, format: Format = .auto) {
    self.init(width: size, height: size, mode: mode, crop: crop, format: format)
  }

  /// The side of the box of ``standard``: 256 pixels.
  public static let standardSize = 256
  /// Fits 256 × 256 pixels, as `imgctl` does without options.
  public static let standard = ImageVariant(size: standardSize)
}

extension ImageVariant {
  /// The variant as the cluster knows it.
  ///
  /// - Throws: ``ImageError/Code/invalidRequest``.
  func model() throws(ImageError) -> Variant {
    guard let blur = Thousandths(number: blur), let sharpen = Thousandths(number: sharpen) else {
      throw ImageError(invalidRequest: "\(VariantError.effectOutOfRange)")
    }
    let crop = try crop?.model()
    do throws(VariantError) {
      return try Variant(
        width: width, height: height, mode: mode.model, crop: crop, enlarges: enlarges,
        format: format.model, quality: quality, frames: frames.model,
        effects: Effects(
          isGrayscale: isGrayscale, blur: blur, sharpen: sharpen, sharpenAmounts: sharpenAmounts,
          radius: cornerRadius, background: background?.model),
        keptData: KeptData(
          profile: keepsProfile, metadata: keepsMetadata, copyright: keepsCopyright),
        sizing: sizing)
    } catch {
      throw ImageError(invalidRequest: Self.reason(error))
    }
  }

  /// The reasons of the model speak of options of the command line.
  private static func reason(_ error: VariantError) -> String {
    switch error {
    case .cropWithoutFill:
      "a crop needs the mode fill, fillDown or auto: other modes have nothing to crop"
    case .stillFormat(let format):
      "\(format.rawValue) holds no animation; all frames need the format auto, webp or gif"
    case .sideOutOfRange, .qualityOutOfRange, .frameOutOfRange, .effectOutOfRange,
      .sizingOutOfRange:
      "\(error)"
    }
  }
}

extension ImageVariant.Mode {
  fileprivate var model: Variant.Mode {
    switch self {
    case .fit: .fit
    case .fill: .fill
    case .fillDown: .fillDown
    case .auto: .auto
    case .stretch: .stretch
    case .stretchDown: .stretchDown
    case .ownSize: .ownSize
    }
  }
}

extension ImageVariant.Format {
  fileprivate var model: Variant.Format {
    switch self {
    case .auto: .auto
    case .jpeg: .jpeg
    case .png: .png
    case .webp: .webp
    case .avif: .avif
    case .gif: .gif
    case .compatible: .compatible
    }
  }
}

extension ImageVariant.Crop {
  fileprivate func model() throws(ImageError) -> Crop {
    switch self {
    case .centre: return .centre
    case .attention: return .attention
    case .entropy: return .entropy
    case .point(let x, let y):
      guard let x = Thousandths(number: x), let y = Thousandths(number: y),
        Crop.coordinateRange.contains(x), Crop.coordinateRange.contains(y)
      else { throw ImageError(invalidRequest: "the point of a crop is from 0,0 to 1,1") }
      return .point(x: x, y: y)
    }
  }
}

extension ImageVariant.Frames {
  fileprivate var model: FrameSelection {
    switch self {
    case .first: .first
    case .number(let number): .number(number)
    case .time(let time): .time(Int(clamping: time.milliseconds))
    case .poster: .poster
    case .all: .all
    }
  }
}

extension ImageVariant.Colour {
  fileprivate var model: RGBColour { RGBColour(red: red, green: green, blue: blue) }
}

extension Thousandths {
  /// The nearest number of thousandths; `nil` for a negative, an infinite or a very large number.
  fileprivate init?(number: Double) {
    let count = (number * 1_000).rounded()
    guard count >= 0, count < 1e12 else { return nil }
    self.init(count: Int(count))
  }
}
