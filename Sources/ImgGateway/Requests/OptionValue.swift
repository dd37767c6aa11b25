import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel
import ImgSettings

/// Base64 with the alphabet for URLs (RFC 4648, section 5).
enum Base64URL {
  /// Without padding.
  static func encoded(_ bytes: [UInt8]) -> String {
    let text = Data(bytes).base64EncodedString().utf8.prefix { $0 != UInt8(ascii: "=") }
    return String(decoding: text.map { urlAlphabet[$0] ?? $0 }, as: UTF8.self)
  }

  /// - Parameter text: with or without padding.
  /// - Returns: `nil` for other characters, and for a length that no bytes have.
  static func decoded(_ text: some StringProtocol) -> [UInt8]? {
    let written = Array(text.utf8)
    let digits = written.prefix { $0 != UInt8(ascii: "=") }
    let isPadding = written[digits.count...].allSatisfy { $0 == UInt8(ascii: "=") }
    guard isPadding, written.count - digits.count <= 2,
      !digits.contains(where: { urlAlphabet.keys.contains($0) })
    else { return nil }
    var standard = digits.map { standardAlphabet[$0] ?? $0 }
    while !standard.count.isMultiple(of: 4) { standard.append(UInt8(ascii: "=")) }
    return Data(base64Encoded: Data(standard)).map { Array($0) }
  }

  private static let urlAlphabet: [UInt8: UInt8] = [
    UInt8(ascii: "+"): UInt8(ascii: "-"), UInt8(ascii: "/"): UInt8(ascii: "_"),
  ]
  private static let standardAlphabet: [UInt8: UInt8] = [
    UInt8(ascii: "-"): UInt8(ascii: "+"), UInt8(ascii: "_"): UInt8(ascii: "/"),
  ]
}

/// The names of colours in CSS (CSS Color Module Level 4, section 6.1).
enum CSSColourName {
  /// 24 bits for a name in lower case, red uppermost.
  static let numbers: [String: UInt32] = [
    "aliceblue": 0xF0_F8FF, "antiquewhite": 0xFA_EBD7, "aqua": 0x00_FFFF, "aquamarine": 0x7F_FFD4,
    "azure": 0xF0_FFFF, "beige": 0xF5_F5DC, "bisque": 0xFF_E4C4, "black": 0x00_0000,
    "blanchedalmond": 0xFF_EBCD, "blue": 0x00_00FF, "blueviolet": 0x8A_2BE2, "brown": 0xA5_2A2A,
    "burlywood": 0xDE_B887, "cadetblue": 0x5F_9EA0, "chartreuse": 0x7F_FF00, "chocolate": 0xD2_691E,
    "coral": 0xFF_7F50, "cornflowerblue": 0x64_95ED, "cornsilk": 0xFF_F8DC, "crimson": 0xDC_143C,
    "cyan": 0x00_FFFF, "darkblue": 0x00_008B, "darkcyan": 0x00_8B8B, "darkgoldenrod": 0xB8_860B,
    "darkgray": 0xA9_A9A9, "darkgreen": 0x00_6400, "darkgrey": 0xA9_A9A9, "darkkhaki": 0xBD_B76B,
    "darkmagenta": 0x8B_008B, "darkolivegreen": 0x55_6B2F, "darkorange": 0xFF_8C00,
    "darkorchid": 0x99_32CC, "darkred": 0x8B_0000, "darksalmon": 0xE9_967A,
    "darkseagreen": 0x8F_BC8F, "darkslateblue": 0x48_3D8B, "darkslategray": 0x2F_4F4F,
    "darkslategrey": 0x2F_4F4F, "darkturquoise": 0x00_CED1, "darkviolet": 0x94_00D3,
    "deeppink": 0xFF_1493, "deepskyblue": 0x00_BFFF, "dimgray": 0x69_6969, "dimgrey": 0x69_6969,
    "dodgerblue": 0x1E_90FF, "firebrick": 0xB2_2222, "floralwhite": 0xFF_FAF0,
    "forestgreen": 0x22_8B22, "fuchsia": 0xFF_00FF, "gainsboro": 0xDC_DCDC, "ghostwhite": 0xF8_F8FF,
    "gold": 0xFF_D700, "goldenrod": 0xDA_A520, "gray": 0x80_8080, "green": 0x00_8000,
    "greenyellow": 0xAD_FF2F, "grey": 0x80_8080, "honeydew": 0xF0_FFF0, "hotpink": 0xFF_69B4,
    "indianred": 0xCD_5C5C, "indigo": 0x4B_0082, "ivory": 0xFF_FFF0, "khaki": 0xF0_E68C,
    "lavender": 0xE6_E6FA, "lavenderblush": 0xFF_F0F5, "lawngreen": 0x7C_FC00,
    "lemonchiffon": 0xFF_FACD, "lightblue": 0xAD_D8E6, "lightcoral": 0xF0_8080,
    "lightcyan": 0xE0_FFFF, "lightgoldenrodyellow": 0xFA_FAD2, "lightgray": 0xD3_D3D3,
    "lightgreen": 0x90_EE90, "lightgrey": 0xD3_D3D3, "lightpink": 0xFF_B6C1,
    "lightsalmon": 0xFF_A07A, "lightseagreen": 0x20_B2AA, "lightskyblue": 0x87_CEFA,
    "lightslategray": 0x77_8899, "lightslategrey": 0x77_8899, "lightsteelblue": 0xB0_C4DE,
    "lightyellow": 0xFF_FFE0, "lime": 0x00_FF00, "limegreen": 0x32_CD32, "linen": 0xFA_F0E6,
    "magenta": 0xFF_00FF, "maroon": 0x80_0000, "mediumaquamarine": 0x66_CDAA,
    "mediumblue": 0x00_00CD, "mediumorchid": 0xBA_55D3, "mediumpurple": 0x93_70DB,
    "mediumseagreen": 0x3C_B371, "mediumslateblue": 0x7B_68EE, "mediumspringgreen": 0x00_FA9A,
    "mediumturquoise": 0x48_D1CC, "mediumvioletred": 0xC7_1585, "midnightblue": 0x19_1970,
    "mintcream": 0xF5_FFFA, "mistyrose": 0xFF_E4E1, "moccasin": 0xFF_E4B5, "navajowhite": 0xFF_DEAD,
    "navy": 0x00_0080, "oldlace": 0xFD_F5E6, "olive": 0x80_8000, "olivedrab": 0x6B_8E23,
    "orange": 0xFF_A500, "orangered": 0xFF_4500, "orchid": 0xDA_70D6, "palegoldenrod": 0xEE_E8AA,
    "palegreen": 0x98_FB98, "paleturquoise": 0xAF_EEEE, "palevioletred": 0xDB_7093,
    "papayawhip": 0xFF_EFD5, "peachpuff": 0xFF_DAB9, "peru": 0xCD_853F, "pink": 0xFF_C0CB,
    "plum": 0xDD_A0DD, "powderblue": 0xB0_E0E6, "purple": 0x80_0080, "rebeccapurple": 0x66_3399,
    "red": 0xFF_0000, "rosybrown": 0xBC_8F8F, "royalblue": 0x41_69E1, "saddlebrown": 0x8B_4513,
    "salmon": 0xFA_8072, "sandybrown": 0xF4_A460, "seagreen": 0x2E_8B57, "seashell": 0xFF_F5EE,
    "sienna": 0xA0_522D, "silver": 0xC0_C0C0, "skyblue": 0x87_CEEB, "slateblue": 0x6A_5ACD,
    "slategray": 0x70_8090, "slategrey": 0x70_8090, "snow": 0xFF_FAFA, "springgreen": 0x00_FF7F,
    "steelblue": 0x46_82B4, "tan": 0xD2_B48C, "teal": 0x00_8080, "thistle": 0xD8_BFD8,
    "tomato": 0xFF_6347, "turquoise": 0x40_E0D0, "violet": 0xEE_82EE, "wheat": 0xF5_DEB3,
    "white": 0xFF_FFFF, "whitesmoke": 0xF5_F5F5, "yellow": 0xFF_FF00, "yellowgreen": 0x9A_CD32,
  ]
}

/// A colour as weserv and imgproxy write it.
enum ColourText {
  /// Reads a name of CSS, three or six hexadecimal digits with or without `#`, and weserv's four or eight
  /// digits, whose first part is the opacity.
  ///
  /// - Throws: 422 for another text, and for a colour that lets something through.
  static func colour(_ value: OptionValue) throws(RequestRejection) -> RGBColour {
    let text = value.text.lowercased()
    if let number = CSSColourName.numbers[text], let named = RGBColour(number: UInt64(number)) {
      return named
    }
    let digits = text.hasPrefix("#") ? text.dropFirst() : text[...]
    let opacityCount = digits.utf8.count == 8 ? 2 : digits.utf8.count == 4 ? 1 : 0
    let isOpaque = digits.utf8.prefix(opacityCount).allSatisfy { $0 == UInt8(ascii: "f") }
    guard isOpaque, let colour = RGBColour(String(digits.dropFirst(opacityCount))) else {
      throw value.invalid("an opaque colour: a name of CSS, or 3 or 6 hexadecimal digits")
    }
    return colour
  }
}

/// The part of a picture that a crop keeps: a point from 0,0, the upper left corner, to 1,1.
struct FocalPoint: Hashable {
  let x: Thousandths
  let y: Thousandths

  static let centre = FocalPoint(x: 0.5, y: 0.5)

  /// The crop that keeps it. The centre is the same crop however it was spelled.
  var crop: ImageVariant.Crop { self == .centre ? .centre : .point(x: x, y: y) }

  /// A side or a corner by its name in weserv's option `a`.
  static let weservNames: [String: FocalPoint] = [
    "center": .centre,
    "top": FocalPoint(x: 0.5, y: 0), "bottom": FocalPoint(x: 0.5, y: 1),
    "left": FocalPoint(x: 0, y: 0.5), "right": FocalPoint(x: 1, y: 0.5),
    "top-left": FocalPoint(x: 0, y: 0), "top-right": FocalPoint(x: 1, y: 0),
    "bottom-left": FocalPoint(x: 0, y: 1), "bottom-right": FocalPoint(x: 1, y: 1),
  ]

  /// A side or a corner by its name in imgproxy's option `gravity`.
  static let imgproxyNames: [String: FocalPoint] = [
    "ce": .centre,
    "no": FocalPoint(x: 0.5, y: 0), "so": FocalPoint(x: 0.5, y: 1),
    "we": FocalPoint(x: 0, y: 0.5), "ea": FocalPoint(x: 1, y: 0.5),
    "nowe": FocalPoint(x: 0, y: 0), "noea": FocalPoint(x: 1, y: 0),
    "sowe": FocalPoint(x: 0, y: 1), "soea": FocalPoint(x: 1, y: 1),
  ]
}

/// The value of an option as a client sent it, decoded, and read as what the option takes.
///
/// Each function throws 422 with the name of the option for another text.
struct OptionValue {
  let name: String
  let text: String

  var isEmpty: Bool { text.isEmpty }

  /// - Parameter expected: what the value may be.
  func invalid(_ expected: String) -> RequestRejection {
    .invalidOption(name, "is \(Spelling.quoted(text)); write \(expected)")
  }

  /// A whole number without a sign.
  func wholeNumber(in range: ClosedRange<Int>) throws(RequestRejection) -> Int {
    let isDigits = text.utf8.allSatisfy(\.isDigit)
    guard isDigits, let number = Int(text), range.contains(number) else {
      throw invalid("a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A decimal number without a sign and without an exponent.
  func decimal(in range: ClosedRange<Double>) throws(RequestRejection) -> Double {
    let isPlain = text.utf8.allSatisfy { byte in
      byte.isDigit || byte == UInt8(ascii: ".")
    }
    guard isPlain, let number = Double(text), range.contains(number) else {
      throw invalid("a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A text that can be a part of a name in the store.
  var version: String { "\(name)=\(EscapedText.encoded(text))" }

  /// The standard deviation of a filter, in pixels.
  func sigma() throws(RequestRejection) -> Thousandths {
    let range = ImageVariant.Effects.sigmaRange
    return Thousandths(try decimal(in: range.lowerBound.value...range.upperBound.value))
  }

  /// A coordinate of a point, as a part of the side.
  func coordinate() throws(RequestRejection) -> Thousandths {
    Thousandths(try decimal(in: 0...1))
  }

  /// A side of a box; 0 leaves it to the proportions of the picture.
  func side() throws(RequestRejection) -> Int {
    try wholeNumber(in: 0...ImageVariant.sideRange.upperBound)
  }

  func quality() throws(RequestRejection) -> Int { try wholeNumber(in: ImageVariant.qualityRange) }

  /// Whether an option is on.
  ///
  /// - Parameter isOn: what an empty value means.
  func flag(ifEmpty isOn: Bool) throws(RequestRejection) -> Bool {
    switch text.lowercased() {
    case "": return isOn
    case "1", "t", "true": return true
    case "0", "f", "false": return false
    default: throw invalid("1 or 0")
    }
  }

  /// A format that thumbnails have.
  func format() throws(RequestRejection) -> ImageVariant.Format {
    switch text.lowercased() {
    case "jpg", "jpeg": return .jpeg
    case "png": return .png
    case "webp": return .webp
    case "avif": return .avif
    case "gif": return .gif
    default: throw invalid("jpg, png, webp, avif or gif")
    }
  }

  /// A name for the file that a browser saves.
  func fileName() throws(RequestRejection) -> String {
    guard (1...Self.maximumFileNameByteCount).contains(text.utf8.count),
      text != ".", text != "..",
      text.unicodeScalars.allSatisfy({ scalar in
        !["/", "\\", "\"", "\u{FFFD}"].contains(scalar)
          && ![.control, .format, .lineSeparator, .paragraphSeparator]
            .contains(scalar.properties.generalCategory)
      })
    else {
      throw invalid("at most \(Self.maximumFileNameByteCount) bytes without / \\ and quotes")
    }
    return text
  }

  private static let maximumFileNameByteCount = 200
}

/// The box that a picture is scaled to, as weserv, imgproxy and Picsum describe it.
struct RequestedBox: Hashable {
  /// In pixels; 0 leaves the side to the proportions of the picture.
  var width = 0
  /// In pixels; 0 leaves the side to the proportions of the picture.
  var height = 0
  /// Pixels of the thumbnail for a pixel of the box.
  var density = 1.0
  /// The border around the box, in pixels of the thumbnail.
  var padding = 0

  /// Whether both sides are given.
  var isWhole: Bool { width > 0 && height > 0 }
  /// Whether neither side is given: the thumbnail has the size of its picture.
  var isOpen: Bool { width == 0 && height == 0 }

  /// The longest side that is given, in pixels of the thumbnail; 0 for none. Only of a box that has a variant.
  var longestSide: Int { isOpen ? 0 : pixels(max(width, height)) + 2 * padding }

  /// The size of a drawing in pixels: an open side is as long as the other one. Only of a box that has a variant.
  var drawingSize: (width: Int, height: Int) {
    guard !isOpen else { return (256, 256) }
    let inner = (pixels(width > 0 ? width : height), pixels(height > 0 ? height : width))
    return (inner.0 + 2 * padding, inner.1 + 2 * padding)
  }

  /// A variant that fits the box: an open side has the largest size there is, see
  /// ``SideLimit/bounding(_:)``.
  ///
  /// - Parameter density: the name of the option that ``density`` came from.
  /// - Throws: 422 if a side is too large with its density.
  func variant(density name: String) throws(RequestRejection) -> ImageVariant {
    ImageVariant(
      width: try scaled(width, density: name), height: try scaled(height, density: name))
  }

  /// A variant whose box has the sides as given, with the density beside them: a picture that is too small for
  /// it keeps the shape of the box, see ``Sizing``.
  ///
  /// - Throws: as ``variant(density:)``.
  func denseVariant(density name: String) throws(RequestRejection) -> ImageVariant {
    _ = try variant(density: name)
    let longest = ImageVariant.sideRange.upperBound
    var variant = ImageVariant(
      width: width > 0 ? width : longest, height: height > 0 ? height : longest)
    let thousandths = Thousandths(density)
    guard Sizing.densityRange.contains(thousandths) else {
      throw .invalidOption(name, "is less than a thousandth; write a larger number")
    }
    variant.sizing = Sizing(density: thousandths)
    return variant
  }

  private func scaled(_ side: Int, density name: String) throws(RequestRejection) -> Int {
    guard side > 0 else { return ImageVariant.sideRange.upperBound - 2 * padding }
    guard (Double(side) * density).rounded() <= Double(ImageVariant.sideRange.upperBound) else {
      throw .invalidOption(
        name,
        "makes a side longer than \(ImageVariant.sideRange.upperBound) pixels; ask for a smaller picture"
      )
    }
    return pixels(side)
  }

  /// A side in pixels of the thumbnail; 0 for an open one.
  private func pixels(_ side: Int) -> Int {
    side > 0 ? max(1, Int((Double(side) * density).rounded())) : 0
  }
}

/// The longest side of thumbnails that requests may ask for.
///
/// A side that the proportions of a picture decide can be longer: one that a request leaves open, and that of a
/// picture that covers its box without a crop (weserv's `fit=outside`). Such a thumbnail has at most as many pixels
/// as a square of the longest side. A picture that would become larger is refused by its decoder, because another
/// size would not be the one that was asked for.
package struct SideLimit: Hashable, Sendable {
  /// In pixels; `nil` for that of thumbnails.
  private let maximum: Int?

  package static let none = SideLimit(nil)

  package init(_ maximum: Int?) {
    self.maximum = maximum
  }

  /// - Parameter side: in pixels of the thumbnail; 0 for one that the request leaves open.
  /// - Throws: 422.
  func require(_ side: Int) throws(RequestRejection) {
    guard let maximum, side > maximum else { return }
    throw RequestRejection(
      .unprocessableContent, code: "too_large_side",
      "a side of \(side) pixels is longer than \(maximum), the limit of this server; ask for a "
        + "smaller picture")
  }

  /// The variant within the limit. A picture whose size the request does not name is made to fit.
  ///
  /// - Parameters:
  ///   - variant: of sides that ``require(_:)`` accepts.
  ///   - box: that of the request.
  func bounding(_ variant: ImageVariant, of box: RequestedBox) -> ImageVariant {
    let longest = maximum ?? ImageVariant.sideRange.upperBound
    var bounded = variant
    if box.isOpen {
      (bounded.width, bounded.height) = (min(variant.width, longest), min(variant.height, longest))
    } else if !box.isWhole || variant.mode == .fill && variant.crop == nil {
      bounded.sizing = Sizing(
        density: variant.sizing.density, maximumPixelCount: longest * longest,
        keepsDrawingSize: variant.sizing.keepsDrawingSize)
    }
    return bounded
  }
}

/// The address of a picture in a request.
enum SourceAddress {
  /// A URL with its scheme, normalized.
  ///
  /// - Throws: 400.
  static func url(_ text: String) throws(RequestRejection) -> ImageURL {
    try rethrowing(try ImageURL(parsing: text)) { (error: Failure) in
      RequestRejection.invalidURL(error.detail)
    }
  }

  /// A URL as weserv reads it: without a scheme it is `http:`. `ssl:` and `//` before the host are `https:`.
  ///
  /// - Throws: 400.
  static func completed(_ text: String) throws(RequestRejection) -> ImageURL {
    guard !text.isEmpty else {
      throw .invalidURL("the address of the picture is empty; write ?url=https://example.org/a.jpg")
    }
    let start = text.prefix(longestScheme).lowercased()
    if let prefix = completePrefixes.first(where: start.hasPrefix) {
      // The scheme is ASCII, so as many bytes of the text are it.
      return try url(prefix + text.dropFirst(prefix.count))
    }
    for (prefix, scheme) in shortPrefixes where start.hasPrefix(prefix) {
      return try url(scheme + text.dropFirst(prefix.count))
    }
    return try url(hasScheme(text) ? text : "http://" + text)
  }

  /// Whether `://` follows the first word, also after a scheme that is not supported.
  private static func hasScheme(_ text: String) -> Bool {
    let rest = text.utf8.drop { !":/?#".utf8.contains($0) }
    return rest.starts(with: "://".utf8)
  }

  private static let longestScheme = 8
  private static let completePrefixes = ["http:", "https:", "data:", "file:"]
  private static let shortPrefixes = [
    ("ssl://", "https://"), ("ssl:", "https://"), ("//", "https://"),
  ]
}
