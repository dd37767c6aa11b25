import FoundationEssentials
import Glibc
import ImgModel

/// What a program shows in the place of a picture that is not there yet, or cannot be had.
///
/// ```swift
/// let placeholder = ImagePlaceholder.symbol(.photo)
/// let body = placeholder.svg(width: 256, height: 256)  // of the type image/svg+xml
/// ```
///
/// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
@nonexhaustive
public enum ImagePlaceholder: Hashable, Sendable {
  /// A drawing that is built in: grey, on a transparent ground.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Symbol: String, Hashable, Sendable, CaseIterable {
    /// A landscape in a frame.
    case photo
    /// A disc.
    case circle
    /// A head and shoulders.
    case person
    /// A cloud.
    case cloud
  }

  /// Nothing: transparent.
  case none
  /// One colour.
  case colour(RGBColour)
  /// The blurred picture of a ThumbHash, see ``LoadedImage/thumbHash``. Bytes that are no ThumbHash show
  /// nothing.
  case thumbHash([UInt8])
  /// A drawing that is built in.
  case symbol(Symbol)
  /// A short text in the middle, such as initials.
  case text(String)

  /// The placeholder as pixels, stretched to a size.
  ///
  /// - Returns: `nil` for a symbol and a text, which only ``svg(width:height:)`` draws, and if a side is not
  ///   positive.
  public func pixels(width: Int, height: Int) -> ImagePixels? {
    switch self {
    case .none: Self.transparent(width: width, height: height)
    case .colour(let colour):
      ImagePixels(width: width, height: height, filledWith: ImagePixels.Pixel(colour))
    case .thumbHash(let bytes):
      if let hash = ThumbHash(bytes: bytes) {
        ThumbHashDrawing(hash).pixels(width: width, height: height)
      } else {
        Self.transparent(width: width, height: height)
      }
    case .symbol, .text: nil
    }
  }

  private static func transparent(width: Int, height: Int) -> ImagePixels? {
    let pixel = ImagePixels.Pixel(red: 0, green: 0, blue: 0, alpha: 0)
    return ImagePixels(width: width, height: height, filledWith: pixel)
  }

  /// The placeholder as a file of the type `image/svg+xml`, which refers to nothing outside. Symbols and
  /// texts keep their proportions; the others are stretched.
  ///
  /// - Parameters:
  ///   - width: in pixels; at least 1 counts.
  ///   - height: in pixels; at least 1 counts.
  public func svg(width: Int, height: Int) -> [UInt8] {
    let drawing = PlaceholderDrawing(width: max(1, width), height: max(1, height))
    return Array(drawing.document(of: self).utf8)
  }
}

extension LoadedImage {
  /// The blurred picture that its ``thumbHash`` describes; ``ImagePlaceholder/none`` without one.
  public var placeholder: ImagePlaceholder { thumbHash.map(ImagePlaceholder.thumbHash) ?? .none }
}

/// Writes placeholders as SVG.
struct PlaceholderDrawing {
  private static let grey = "#9a9a9a"
  /// The longer side of the picture of a ThumbHash, which has no details that more pixels would show.
  private static let thumbHashSide = 32.0
  /// The width of a letter in parts of the height of the font, about.
  private static let letterWidth = 0.6

  let width: Int
  let height: Int

  func document(of placeholder: ImagePlaceholder) -> String {
    switch placeholder {
    case .none: document("")
    case .colour(let colour): document(rectangle(filledWith: colour.cssText))
    case .thumbHash(let bytes): document(ThumbHash(bytes: bytes).map(picture) ?? "")
    case .symbol(let symbol):
      // Drawn on a square of 24 units.
      document(#"<g fill="\#(Self.grey)">\#(Self.shapes(of: symbol))</g>"#, viewBox: "0 0 24 24")
    case .text(let text): document(line(text))
    }
  }

  private func document(_ content: String, viewBox: String? = nil) -> String {
    #"<svg xmlns="http://www.w3.org/2000/svg" width="\#(width)" height="\#(height)" "#
      + #"viewBox="\#(viewBox ?? "0 0 \(width) \(height)")">\#(content)</svg>"#
  }

  private func rectangle(filledWith colour: String) -> String {
    #"<rect width="\#(width)" height="\#(height)" fill="\#(colour)"/>"#
  }

  private func picture(of hash: ThumbHash) -> String {
    let drawing = ThumbHashDrawing(hash)
    let ratio = drawing.aspectRatio
    let side = { (share: Double) in max(1, Int((Self.thumbHashSide * min(1, share)).rounded())) }
    guard let pixels = drawing.pixels(width: side(ratio), height: side(1 / ratio)) else {
      preconditionFailure("both sides are positive")
    }
    let data = Data(PlainPNG.file(of: pixels)).base64EncodedString()
    return #"<image width="\#(width)" height="\#(height)" preserveAspectRatio="none" "#
      + #"href="data:image/png;base64,\#(data)"/>"#
  }

  /// A line of text that fits the width.
  private func line(_ text: String) -> String {
    let letters = Double(max(2, text.count)) * Self.letterWidth
    let size = max(1, Int(min(Double(height) * 0.5, Double(width) * 0.9 / letters)))
    return #"<text x="50%" y="50%" text-anchor="middle" dominant-baseline="central" "#
      + #"font-family="sans-serif" font-size="\#(size)" fill="\#(Self.grey)">"#
      + Self.escaped(text) + "</text>"
  }

  /// As the content of an element (XML 1.0 section 2.4). A character that no document may have is replaced.
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\t", "\n", "\r", "\u{20}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}",
        "\u{10000}"..."\u{10FFFF}":
        escaped.unicodeScalars.append(scalar)
      default: escaped += "\u{FFFD}"
      }
    }
    return escaped
  }

  private static func shapes(of symbol: ImagePlaceholder.Symbol) -> String {
    switch symbol {
    case .photo:
      #"<path fill-rule="evenodd" d="M4 4h16a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2V6"#
        + #"a2 2 0 0 1 2-2zm0 2v12h16V6z"/><circle cx="8" cy="10" r="1.8"/>"#
        + #"<path d="M5 17l5-4.5 2.5 2L16 10l3.5 5V17z"/>"#
    case .circle: #"<circle cx="12" cy="12" r="10"/>"#
    case .person:
      #"<circle cx="12" cy="8" r="4.5"/><path d="M3 22a9 8 0 0 1 18 0z"/>"#
    case .cloud:
      #"<path d="M7 19a5 5 0 0 1-.6-9.96A6 6 0 0 1 17.9 10.1 4.5 4.5 0 0 1 17.5 19z"/>"#
    }
  }
}

/// Writes small pictures as PNG files (ISO/IEC 15948), without compression.
enum PlainPNG {
  private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  /// 8 bits a sample, colours with alpha; one way each to compress, to filter and to interlace.
  private static let form: [UInt8] = [8, 6, 0, 0, 0]
  /// Of a stored block (RFC 1951 section 3.2.4).
  private static let blockMaximumByteCount = 0xFFFF

  static func file(of pixels: ImagePixels) -> [UInt8] {
    // A row that is not filtered begins with 0.
    let rows = (0..<pixels.height).flatMap { [0] + pixels.row($0) }
    let size = bytes(of: UInt32(pixels.width)) + bytes(of: UInt32(pixels.height))
    return signature + chunk("IHDR", size + form) + chunk("IDAT", stream(rows)) + chunk("IEND", [])
  }

  private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    let checked = Array(name.utf8) + content
    return bytes(of: UInt32(content.count)) + checked + bytes(of: checksum(checked))
  }

  /// As zlib has it (RFC 1950), in blocks that are stored.
  private static func stream(_ content: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    for start in stride(from: 0, to: content.count, by: blockMaximumByteCount) {
      let block = content[start...].prefix(blockMaximumByteCount)
      let isLast = start + block.count == content.count
      let count = UInt16(block.count)
      let numbers = [count, ~count].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
      stream += [isLast ? 1 : 0] + numbers + block
    }
    let modulus: UInt32 = 65_521
    let (low, high) = content.reduce((UInt32(1), UInt32(0))) { sums, byte in
      let low = (sums.0 + UInt32(byte)) % modulus
      return (low, (sums.1 + low) % modulus)
    }
    return stream + bytes(of: high << 16 | low)
  }

  /// CRC-32 (ISO/IEC 15948, annex D).
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~UInt32(0)) { remainder, byte in
      (0..<8).reduce(remainder ^ UInt32(byte)) { remainder, _ in
        remainder >> 1 ^ (remainder & 1 == 0 ? 0 : 0xEDB8_8320)
      }
    }
  }

  /// The most significant one first.
  private static func bytes(of number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }
}

extension ImagePixels {
  /// A PNG file of the pixels, without compression.
  package var pngFile: [UInt8] { PlainPNG.file(of: self) }
}

/// Draws the picture that a ThumbHash describes: sums of cosine waves in four planes, which are luminance, the
/// differences yellow to blue and red to green, and opacity.
struct ThumbHashDrawing {
  /// The waves of one plane, and their sum's constant part.
  private struct Plane {
    struct Wave {
      let column: Int
      let row: Int
      let strength: Double
    }

    var average = 0.0
    var waves: [Wave] = []

    /// The value at a place, as the sum of each wave's strength there.
    func value(_ horizontal: [Double], _ vertical: [Double]) -> Double {
      waves.reduce(average) { $0 + $1.strength * horizontal[$1.column] * vertical[$1.row] }
    }
  }

  /// Both sides have this many waves at most, with the constant one.
  private static let maximumWaveCount = 7
  /// The scale of the colour differences was enlarged by this before it was rounded.
  private static let differenceScale = 1.25

  private let luminance: Plane
  private let yellowBlue: Plane
  private let redGreen: Plane
  private let alpha: Plane
  /// The width of the picture divided by its height, about.
  let aspectRatio: Double

  init(_ hash: ThumbHash) {
    let bytes = hash.bytes.map(Int.init)
    let header = bytes[0] | bytes[1] << 8 | bytes[2] << 16
    let shape = bytes[3] | bytes[4] << 8
    let hasAlpha = header >> 23 != 0
    let longest = hasAlpha ? 5 : 7
    let shortest = shape & 7
    let isLandscape = shape >> 15 != 0
    let (columns, rows) = isLandscape ? (longest, shortest) : (shortest, longest)
    aspectRatio = Double(columns) / Double(rows)

    var nibbles = bytes[(hasAlpha ? 6 : 5)...].flatMap { [$0 & 15, $0 >> 4] }[...]
    luminance = Self.plane(
      average: Double(header & 63) / 63, scale: Double(header >> 18 & 31) / 31,
      columns: max(3, columns), rows: max(3, rows), &nibbles)
    yellowBlue = Self.plane(
      average: Double(header >> 6 & 63) / 31.5 - 1,
      scale: Double(shape >> 3 & 63) / 63 * Self.differenceScale, columns: 3, rows: 3, &nibbles)
    redGreen = Self.plane(
      average: Double(header >> 12 & 63) / 31.5 - 1,
      scale: Double(shape >> 9 & 63) / 63 * Self.differenceScale, columns: 3, rows: 3, &nibbles)
    alpha =
      hasAlpha
      ? Self.plane(
        average: Double(bytes[5] & 15) / 15, scale: Double(bytes[5] >> 4) / 15, columns: 5,
        rows: 5, &nibbles) : Plane(average: 1)
  }

  /// Takes the waves below a diagonal, row after row, but for the constant one.
  private static func plane(
    average: Double, scale: Double, columns: Int, rows: Int, _ nibbles: inout ArraySlice<Int>
  ) -> Plane {
    var plane = Plane(average: average)
    for row in 0..<rows {
      for column in 0..<columns where column * rows < columns * (rows - row) && row + column > 0 {
        // The form was checked, so that there are as many as are taken.
        let strength = (Double(nibbles.popFirst() ?? 0) / 7.5 - 1) * scale
        // A wave in one direction counts twice.
        plane.waves.append(.init(column: column, row: row, strength: 2 * strength))
      }
    }
    return plane
  }

  /// The colour that is left without the waves.
  var averageColour: RGBColour {
    let pixel = Self.pixel(
      luminance.average, yellowBlue.average, redGreen.average, alpha: alpha.average)
    return RGBColour(red: pixel[0], green: pixel[1], blue: pixel[2])
  }

  /// - Returns: `nil` if a side is not positive.
  func pixels(width: Int, height: Int) -> ImagePixels? {
    guard width > 0, height > 0 else { return nil }
    let columns = (0..<width).map { Self.cosines(at: $0, of: width) }
    var bytes: [UInt8] = []
    for y in 0..<height {
      let vertical = Self.cosines(at: y, of: height)
      for horizontal in columns {
        bytes += Self.pixel(
          luminance.value(horizontal, vertical), yellowBlue.value(horizontal, vertical),
          redGreen.value(horizontal, vertical), alpha: alpha.value(horizontal, vertical))
      }
    }
    return ImagePixels(width: width, height: height, bytes: bytes)
  }

  /// Each wave at the middle of a pixel.
  private static func cosines(at pixel: Int, of count: Int) -> [Double] {
    (0..<maximumWaveCount).map { wave in
      cos(.pi / Double(count) * (Double(pixel) + 0.5) * Double(wave))
    }
  }

  /// - Returns: the samples of a pixel.
  private static func pixel(
    _ luminance: Double, _ yellowBlue: Double, _ redGreen: Double, alpha: Double
  ) -> [UInt8] {
    let blue = luminance - 2.0 / 3 * yellowBlue
    let red = (3 * luminance - blue + redGreen) / 2
    let green = red - redGreen
    return [red, green, blue, alpha].map { UInt8((min(max($0, 0), 1) * 255).rounded()) }
  }
}
