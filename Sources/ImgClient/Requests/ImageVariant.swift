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
