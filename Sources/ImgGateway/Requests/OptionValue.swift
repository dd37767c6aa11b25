import ImgClient
import ImgHTTP
import ImgModel
import ImgSettings

/// A colour as weserv and imgproxy write it.
enum ColourText {
  /// Reads a name of CSS, three or six hexadecimal digits with or without `#`, and weserv's four or eight
  /// digits, whose first part is the opacity.
  ///
  /// - Throws: 422 for another text, and for a colour that lets something through.
  static func colour(_ value: OptionValue) throws(RequestRejection) -> RGBColour {
    let text = value.text.lowercased()
    if let named = RGBColour(named: text) { return named }
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
      // The gateway serves no files, and by itself no data: URLs.
      let problem = error.detail.prefix { $0 != ";" }
      return RequestRejection.invalidURL(
        error.code == .unsupportedScheme ? "\(problem); use http or https" : error.detail)
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
