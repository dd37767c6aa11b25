/// Which part of a picture is kept where it covers more than the box.
package enum Crop: Hashable, Sendable {
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
}

extension Crop: LosslessStringConvertible {
  /// Reads `centre`, `attention`, `entropy` or a point such as `0.5,0.25`.
  package init?(_ text: String) {
    switch text {
    case "centre", "center": self = .centre
    case "attention": self = .attention
    case "entropy": self = .entropy
    default:
      let parts = text.split(separator: ",", omittingEmptySubsequences: false)
      let numbers = parts.compactMap { Thousandths(String($0)) }
      guard parts.count == 2, numbers.count == 2,
        numbers.allSatisfy(Self.coordinateRange.contains)
      else { return nil }
      self = .point(x: numbers[0], y: numbers[1])
    }
  }

  package var description: String {
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

/// What is done to the pixels of a thumbnail after they have their size, in the order of the
/// properties.
package struct Effects: Hashable, Sendable {
  package let isGrayscale: Bool
  /// The standard deviation of a Gaussian blur, in pixels of the thumbnail; 0 for none.
  package let blur: Thousandths
  /// The standard deviation of an unsharp mask, in pixels of the thumbnail; 0 for none.
  package let sharpen: Thousandths
  /// Those of the unsharp mask; the standard ones without a mask.
  package let sharpenAmounts: SharpenAmounts
  /// The radius of the corners, in pixels of the thumbnail; 0 for none, and at most half of the
  /// shorter side counts.
  package let radius: Int
  /// What is behind transparent pixels; `nil` leaves them transparent where the format can.
  package let background: RGBColour?

  package static let sigmaRange = Thousandths.zero...Thousandths(count: 100_000)
  package static let radiusRange = 0...Variant.sideRange.upperBound

  package static let none = Effects()

  package init(
    isGrayscale: Bool = false, blur: Thousandths = .zero, sharpen: Thousandths = .zero,
    sharpenAmounts: SharpenAmounts = .standard, radius: Int = 0, background: RGBColour? = nil
  ) {
    self.isGrayscale = isGrayscale
    self.blur = blur
    self.sharpen = sharpen
    self.sharpenAmounts = sharpen == .zero ? .standard : sharpenAmounts
    self.radius = radius
    self.background = background
  }

  var isInRange: Bool {
    Self.sigmaRange.contains(blur) && Self.sigmaRange.contains(sharpen)
      && sharpenAmounts.isInRange && Self.radiusRange.contains(radius)
  }

  /// See ``Variant/canonicalText``; what is not the default.
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
      background.map { "background=\($0)" },
    ].compactMap(\.self)
  }
}

/// Whether a thumbnail is made from the preview that a camera put into the file. A preview takes a
/// fraction of the time, and may differ from its picture.
package enum EmbeddedUse: String, CaseIterable, Sendable, Codable {
  /// Where the preview is large enough and shows the whole picture, for formats in which it belongs
  /// to the picture (HEIF, AVIF).
  case auto
  /// Wherever there is a preview, also a smaller one.
  case always
  case never

  /// See ``Variant/canonicalText``; `nil` for the default.
  var canonicalText: String? { self == .auto ? nil : "thumb=\(rawValue)" }
}

/// Which frames of an animation, or pages of a document, a thumbnail shows. Of a still picture, all
/// but a later number select the picture.
package enum FrameSelection: Hashable, Sendable {
  case first
  /// One frame, counted from 0.
  case number(Int)
  /// The frame that is shown so many milliseconds after the start; after the end, the last one.
  case time(Int)
  /// The first frame that does not have one colour only; the first frame if all have.
  case poster
  /// All frames, so that the thumbnail is an animation.
  case all

  package static let numberRange = 0...999_999
  /// In milliseconds; one day.
  package static let timeRange = 0...86_400_000

  var isInRange: Bool {
    switch self {
    case .first, .poster, .all: true
    case .number(let number): Self.numberRange.contains(number)
    case .time(let milliseconds): Self.timeRange.contains(milliseconds)
    }
  }

  /// See ``Variant/canonicalText``; `nil` for the default.
  var canonicalText: String? {
    switch self {
    case .first: nil
    case .number(let number): "frame=\(number)"
    case .time(let milliseconds): "at=\(milliseconds)"
    case .poster: "poster"
    case .all: "animated"
    }
  }
}

/// What a thumbnail keeps of its file beside the pixels. By default nothing: its colours are sRGB, and
/// it does not tell where a photograph was taken.
package struct KeptData: Hashable, Sendable {
  /// Whether the colours stay those of the file, with its profile.
  package let profile: Bool
  /// Whether EXIF, XMP and IPTC data are copied.
  package let metadata: Bool
  /// Whether the author and the rights in these data are copied. Not besides ``metadata``, which has them.
  package let copyright: Bool

  package static let none = KeptData()

  package init(profile: Bool = false, metadata: Bool = false, copyright: Bool = false) {
    self.profile = profile
    self.metadata = metadata
    self.copyright = copyright && !metadata
  }

  /// See ``Variant/canonicalText``; what is not the default.
  var canonicalTexts: [String] {
    guard self != .none else { return [] }
    return [
      profile ? "profile" : nil, metadata ? "metadata" : nil, copyright ? "copyright" : nil,
    ].compactMap(\.self)
  }
}

/// A colour in sRGB.
package struct RGBColour: Hashable, Sendable {
  package let red: UInt8
  package let green: UInt8
  package let blue: UInt8

  package static let white = RGBColour(red: 255, green: 255, blue: 255)

  package init(red: UInt8, green: UInt8, blue: UInt8) {
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
  package init?(_ text: String) {
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
  package var description: String {
    String(String(0x100_0000 | number, radix: 16).dropFirst())
  }
}

/// A number of at least 0 with three decimals. Unlike floating point, equal texts are equal numbers,
/// which keys of the store rely on.
package struct Thousandths: Hashable, Sendable, Comparable {
  package let count: Int

  package static let zero = Thousandths(count: 0)
  package static let one = Thousandths(count: 1_000)

  /// - Precondition: `count` is at least 0.
  package init(count: Int) {
    precondition(count >= 0, "a number of thousandths is not negative")
    self.count = count
  }

  package var value: Double { Double(count) / 1_000 }

  package static func < (left: Thousandths, right: Thousandths) -> Bool {
    left.count < right.count
  }
}

extension Thousandths: LosslessStringConvertible {
  /// Digits before the decimal point that ``init(_:)`` reads.
  private static let maximumWholeDigitCount = 6

  /// Reads a decimal number such as `2`, `0.25` or `.5`, with at most three decimals.
  package init?(_ text: String) {
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
  package var description: String {
    let (whole, rest) = count.quotientAndRemainder(dividingBy: 1_000)
    guard rest != 0 else { return "\(whole)" }
    var decimals = String(1_000 + rest).dropFirst()
    while decimals.last == "0" { decimals.removeLast() }
    return "\(whole).\(decimals)"
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

  /// See ``Variant/canonicalText``; what is not the default.
  var canonicalTexts: [String] {
    guard self != .standard else { return [] }
    return [
      density == .one ? nil : "density=\(density)",
      maximumPixelCount.map { "pixels=\($0)" },
      keepsDrawingSize ? "drawing=own" : nil,
    ].compactMap(\.self)
  }
}
