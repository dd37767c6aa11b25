extension ImageVariant {
  /// Which part of a picture is kept where it covers more than the box.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Crop: Hashable, Sendable {
    /// The middle.
    case centre
    /// The part that people look at first: skin, saturated colours, edges.
    case attention
    /// The part with the most detail.
    case entropy
    /// The part around a point, as far as the picture has one there. From 0, the left or the upper
    /// edge, to 1, the right or the lower edge.
    case point(x: Thousandths, y: Thousandths)

    /// The range of a coordinate.
    package static let coordinateRange = Thousandths.zero...Thousandths.one

    var isInRange: Bool {
      guard case .point(let x, let y) = self else { return true }
      return Self.coordinateRange.contains(x) && Self.coordinateRange.contains(y)
    }
  }
}

extension ImageVariant.Crop: LosslessStringConvertible {
  /// Reads `centre`, `attention`, `entropy` or a point such as `0.5,0.25`.
  public init?(_ text: String) {
    switch text {
    case "centre", "center": self = .centre
    case "attention", "smart": self = .attention
    case "entropy": self = .entropy
    default:
      let parts = text.split(separator: ",", omittingEmptySubsequences: false)
      let numbers = parts.compactMap { Thousandths(String($0)) }
      guard parts.count == 2, numbers.count == 2 else { return nil }
      self = .point(x: numbers[0], y: numbers[1])
      guard isInRange else { return nil }
    }
  }

  /// The text that ``init(_:)`` reads.
  public var description: String {
    switch self {
    case .centre: "centre"
    case .attention: "attention"
    case .entropy: "entropy"
    case .point(let x, let y): "\(x),\(y)"
    }
  }
}

/// How much an unsharp mask adds to the difference of a pixel's lightness from that of its surroundings.
package struct SharpenAmounts: Hashable, Sendable {
  /// In flat areas, where such differences are noise.
  package let flat: Thousandths
  /// At edges.
  package let edges: Thousandths

  /// Those of libvips: flat areas stay as they are.
  package static let standard = SharpenAmounts(flat: .zero, edges: Thousandths(count: 3_000))
  package static let range = Thousandths.zero...Thousandths(count: 10_000_000)

  package init(flat: Thousandths, edges: Thousandths) {
    self.flat = flat
    self.edges = edges
  }

  var isInRange: Bool { Self.range.contains(flat) && Self.range.contains(edges) }
}

extension ImageVariant {
  /// What is done to the pixels of a thumbnail after they have their size, in the order of the
  /// properties.
  public struct Effects: Hashable, Sendable {
    /// Whether it has no colours.
    public var isGrayscale: Bool
    /// The standard deviation of a Gaussian blur, in pixels of the thumbnail, 0 to 100; 0 for none.
    public var blur: Thousandths
    /// The standard deviation of an unsharp mask, in pixels of the thumbnail, 0 to 100; 0 for none.
    public var sharpen: Thousandths
    /// Those of the unsharp mask.
    package var sharpenAmounts = SharpenAmounts.standard
    /// The radius of the corners, in pixels of the thumbnail; 0 for none, and at most half of the
    /// shorter side counts.
    public var radius: Int
    /// The width of an empty border around the picture, in pixels of the thumbnail, 0 to 1,000; 0 for none. The
    /// thumbnail becomes larger by it on each side.
    public var padding: Int
    /// What is behind transparent pixels; `nil` leaves them transparent where the format can.
    public var background: RGBColour?

    package static let sigmaRange = Thousandths.zero...Thousandths(count: 100_000)
    package static let radiusRange = 0...ImageVariant.sideRange.upperBound
    package static let paddingRange = 0...1_000

    /// No effect.
    public static let none = Effects()

    /// No effect, unless arguments are given.
    public init(
      isGrayscale: Bool = false, blur: Thousandths = 0, sharpen: Thousandths = 0,
      radius: Int = 0, padding: Int = 0, background: RGBColour? = nil
    ) {
      self.isGrayscale = isGrayscale
      self.blur = blur
      self.sharpen = sharpen
      self.radius = radius
      self.padding = padding
      self.background = background
    }

    var isInRange: Bool {
      Self.sigmaRange.contains(blur) && Self.sigmaRange.contains(sharpen)
        && sharpenAmounts.isInRange && Self.radiusRange.contains(radius)
    }

    /// See ``ImageVariant/canonicalText``; what is not the default.
    var canonicalTexts: [String] {
      // Most variants have none, and each look-up in the store hashes the text.
      guard self != .none else { return [] }
      return [
        isGrayscale ? "grayscale" : nil,
        blur == .zero ? nil : "blur=\(blur)",
        sharpen == .zero ? nil : "sharpen=\(sharpen)",
        sharpenAmounts == .standard
          ? nil : "amounts=\(sharpenAmounts.flat):\(sharpenAmounts.edges)",
        radius == 0 ? nil : "radius=\(radius)",
        padding == 0 ? nil : "padding=\(padding)",
        background.map { "background=\($0)" },
      ].compactMap(\.self)
    }
  }
}

/// Whether a thumbnail is made from the preview that a camera put into the file. A preview takes a
/// fraction of the time, and may differ from its picture.
package enum EmbeddedUse: String, CaseIterable, Sendable, FieldValue {
  /// Where the preview is large enough and shows the whole picture, for formats in which it belongs
  /// to the picture (HEIF, AVIF).
  case auto
  /// Wherever there is a preview, also a smaller one.
  case always
  case never

  /// See ``ImageVariant/canonicalText``; `nil` for the default.
  var canonicalText: String? { self == .auto ? nil : "thumb=\(rawValue)" }
}

extension ImageVariant {
  /// Which frames of an animation, or pages of a document, a thumbnail shows. Of a still picture, all
  /// but a later number select the picture.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Frames: Hashable, Sendable {
    /// The first one.
    case first
    /// One frame, counted from 0, at most 999,999.
    case number(Int)
    /// The frame that is shown so long after the start, up to a day; after the end, the last one. Whole
    /// milliseconds count.
    case time(Duration)
    /// The first frame that does not have one colour only; the first frame if all have.
    case poster
    /// All: the thumbnail is an animation, see ``Format/auto``.
    case all

    package static let numberRange = 0...999_999
    package static let timeRange = Duration.zero...Duration.seconds(86_400)

    /// See ``number(_:)``.
    var number: Int? { if case .number(let number) = self { number } else { nil } }

    /// See ``time(_:)``.
    var time: Duration? { if case .time(let time) = self { time } else { nil } }

    var isInRange: Bool {
      switch self {
      case .first, .poster, .all: true
      case .number(let number): Self.numberRange.contains(number)
      case .time(let time): Self.timeRange.contains(time)
      }
    }

    /// A time in whole milliseconds.
    var inMilliseconds: Frames {
      if case .time(let time) = self { .time(.milliseconds(time.milliseconds)) } else { self }
    }

    /// See ``ImageVariant/canonicalText``; `nil` for the default.
    var canonicalText: String? {
      switch self {
      case .first: nil
      case .number(let number): "frame=\(number)"
      case .time(let time): "at=\(time.milliseconds)"
      case .poster: "poster"
      case .all: "animated"
      }
    }
  }

  /// What a thumbnail keeps of its file beside the pixels. By default nothing: its colours are sRGB, and
  /// it does not tell where a photograph was taken.
  public struct KeptData: Hashable, Sendable {
    /// Whether the colours stay those of the file, with its profile.
    public var profile: Bool
    /// Whether EXIF, XMP and IPTC data are copied. They may tell where a photograph was taken.
    public var metadata: Bool
    /// Whether the author and the rights in these data are copied, as EXIF; ``metadata`` has them.
    public var copyright: Bool

    /// Nothing.
    public static let none = KeptData()

    /// Nothing, unless arguments are given.
    public init(profile: Bool = false, metadata: Bool = false, copyright: Bool = false) {
      self.profile = profile
      self.metadata = metadata
      self.copyright = copyright
    }

    /// See ``ImageVariant/canonicalText``; what is not the default.
    var canonicalTexts: [String] {
      guard self != .none else { return [] }
      return [
        profile ? "profile" : nil, metadata ? "metadata" : nil, copyright ? "copyright" : nil,
      ].compactMap(\.self)
    }
  }
}

/// A colour in sRGB.
public struct RGBColour: Hashable, Sendable {
  /// The share of red, 0 to 255.
  public let red: UInt8
  /// The share of green, 0 to 255.
  public let green: UInt8
  /// The share of blue, 0 to 255.
  public let blue: UInt8

  /// White.
  public static let white = RGBColour(red: 255, green: 255, blue: 255)

  /// A colour from its components.
  public init(red: UInt8, green: UInt8, blue: UInt8) {
    self.red = red
    self.green = green
    self.blue = blue
  }

  /// 24 bits, red uppermost.
  package var number: UInt32 { UInt32(red) << 16 | UInt32(green) << 8 | UInt32(blue) }

  /// - Returns: `nil` for a number of more than 24 bits.
  package init?(number: UInt64) {
    guard number <= 0xFF_FFFF else { return nil }
    self.init(
      red: UInt8(number >> 16), green: UInt8(number >> 8 & 0xFF), blue: UInt8(number & 0xFF))
  }
}

extension RGBColour: LosslessStringConvertible {
  /// Reads `white`, `black`, or six or three hexadecimal digits as CSS has them, with or without
  /// `#`.
  public init?(_ text: String) {
    switch text {
    case "white": self = .white
    case "black": self.init(red: 0, green: 0, blue: 0)
    default:
      var digits = text.utf8.first == UInt8(ascii: "#") ? text.dropFirst() : text[...]
      if digits.utf8.count == 3 { digits = digits.reduce(into: "") { $0 += "\($1)\($1)" } }
      guard digits.utf8.count == 6, digits.allSatisfy(\.isHexDigit),
        let number = UInt64(digits, radix: 16)
      else { return nil }
      self.init(number: number)
    }
  }

  /// As CSS has it: `#` and six hexadecimal digits.
  package var cssText: String { "#\(description)" }

  /// Six hexadecimal digits.
  public var description: String {
    String(String(0x100_0000 | number, radix: 16).dropFirst())
  }
}

/// A number with three decimals. Unlike floating point, equal texts are equal numbers, which keys of the
/// store rely on.
public struct Thousandths: Hashable, Sendable, Comparable {
  package let count: Int

  package static let zero = Thousandths(count: 0)
  package static let one = Thousandths(count: 1_000)

  package init(count: Int) {
    self.count = count
  }

  /// The nearest number with three decimals. What is no number, or too large for any range, becomes the largest
  /// one.
  public init(_ number: Double) {
    count = Int(exactly: (number * 1_000).rounded()) ?? .max
  }

  /// The number as a floating-point value.
  public var value: Double { Double(count) / 1_000 }

  /// Whether a number is less than another.
  public static func < (left: Thousandths, right: Thousandths) -> Bool {
    left.count < right.count
  }
}

extension Thousandths: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
  /// A whole number.
  public init(integerLiteral number: Int) {
    self.init(Double(number))
  }

  /// The nearest number with three decimals.
  public init(floatLiteral number: Double) {
    self.init(number)
  }
}

extension Thousandths: LosslessStringConvertible {
  /// Digits before the decimal point that ``init(_:)`` reads.
  private static let maximumWholeDigitCount = 6

  /// Reads a decimal number of at least 0 such as `2`, `0.25` or `.5`, with at most three decimals.
  public init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count <= 2, text.utf8.count > (parts.count == 2 ? 1 : 0),
      parts.allSatisfy({ $0.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) }),
      parts[0].count <= Self.maximumWholeDigitCount
    else { return nil }
    let decimals = parts.count == 2 ? Array(parts[1]) : []
    guard decimals.count <= 3 else { return nil }
    let zeros = Array(repeating: UInt8(ascii: "0"), count: 3 - decimals.count)
    let digits = Array(parts[0]) + decimals + zeros
    self.init(count: digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
  }

  /// Without zeros at the end.
  public var description: String {
    let (whole, rest) = count.magnitude.quotientAndRemainder(dividingBy: 1_000)
    let sign = count < 0 ? "-" : ""
    guard rest != 0 else { return "\(sign)\(whole)" }
    var decimals = String(1_000 + rest).dropFirst()
    while decimals.last == "0" { decimals.removeLast() }
    return "\(sign)\(whole).\(decimals)"
  }
}

/// How a picture and the box of a variant become a size, beside the mode. The servers that the gateway
/// replaces differ in it.
package struct Sizing: Hashable, Sendable {
  /// Pixels of the thumbnail for a pixel of the box. A picture that is too small for it lowers it, so that
  /// the thumbnail keeps the shape that it has with a density of 1.
  package let density: Thousandths
  /// The most pixels of a thumbnail whose size is not bounded by the box: a side of 16,383 is open then, and
  /// follows from the proportions of the picture. A picture that would become larger fails. `nil` cuts
  /// nothing off and refuses nothing: what is larger is made to fit.
  package let maximumPixelCount: Int?
  /// Whether a drawing (SVG) that is smaller than the box stays small, as pictures of pixels do.
  package let keepsDrawingSize: Bool

  package static let standard = Sizing()
  package static let densityRange = Thousandths(count: 1)...Thousandths(count: 16_383_000)

  package init(
    density: Thousandths = .one, maximumPixelCount: Int? = nil, keepsDrawingSize: Bool = false
  ) {
    self.density = density
    self.maximumPixelCount = maximumPixelCount
    self.keepsDrawingSize = keepsDrawingSize
  }

  var isInRange: Bool {
    Self.densityRange.contains(density) && maximumPixelCount.map { $0 > 0 } ?? true
  }

  /// See ``ImageVariant/canonicalText``; what is not the default.
  var canonicalTexts: [String] {
    guard self != .standard else { return [] }
    return [
      density == .one ? nil : "density=\(density)",
      maximumPixelCount.map { "pixels=\($0)" },
      keepsDrawingSize ? "drawing=own" : nil,
    ].compactMap(\.self)
  }
}

@_spi(Coding) extension ImageVariant.Crop: TextValue {}
@_spi(Coding) extension RGBColour: TextValue {}
@_spi(Coding) extension Thousandths: TextValue {}
