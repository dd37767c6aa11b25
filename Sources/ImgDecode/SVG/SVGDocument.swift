import ImgFacts
import ImgModel
import ImgSniff

/// What an SVG would cost, as far as its text tells before it is drawn. librsvg has limits of its own,
/// but they are several times as high.
struct SVGDocument {
  /// Of the uncompressed text.
  private static let maximumByteCount = 32 << 20
  /// Each takes librsvg one or two kilobytes.
  private static let maximumElementCount = 200_000
  /// An SVG may be a picture inside another one.
  private static let maximumDepth = 3

  /// What CSS and libvips take for an inch (CSS Values and Units section 6.2).
  private static let (pixelsPerInch, loadersPixelsPerInch) = (96.0, 72.0)

  /// How much larger it is than the loader takes it for.
  let scale: Double
  /// The JPEGs and PNGs inside, also those of SVGs inside.
  private var pictures: [EmbeddedPicture] = []

  /// - Throws: if the document has more than it may have.
  init(_ input: PictureInput) throws(DecodeError) {
    scale =
      SVGFacts.isInInches(ByteWindow(input)) ? Self.pixelsPerInch / Self.loadersPixelsPerInch : 1
    var documents = [(bytes: input.bytes(at: 0, upTo: Self.maximumByteCount + 1), depth: 1)]
    while let document = documents.popLast() {
      guard document.depth <= Self.maximumDepth else {
        throw .unsupported("SVG with more than \(Self.maximumDepth) SVGs inside each other")
      }
      for picture in try Self.pictures(in: document.bytes) {
        switch try Self.format(of: picture) {
        case .svg: documents.append((picture, document.depth + 1))
        case let format: pictures.append(try EmbeddedPicture(picture, in: format))
        }
      }
    }
  }

  /// Pixels of all pictures inside.
  var embeddedPixelCount: Int64 {
    pictures.reduce(0) { total, picture in
      let (sum, isOverflow) = total.addingReportingOverflow(picture.pixelCount)
      return isOverflow ? .max : sum
    }
  }

  /// librsvg draws a damaged picture as far as it goes, or leaves it out.
  ///
  /// - Throws: if a picture inside is damaged.
  func checkPictures() throws(DecodeError) {
    for picture in pictures { try picture.check() }
  }

  /// The pictures that a document shows, without those of SVGs inside. Nothing is shown of a picture
  /// without bytes, and nothing of it is missing.
  private static func pictures(in document: [UInt8]) throws(DecodeError) -> [[UInt8]] {
    let found = SVGReader(try text(of: document), maximumElementCount: maximumElementCount)
    guard found.elementCount <= maximumElementCount else {
      throw .unsupported("SVG with more than \(maximumElementCount) elements")
    }
    guard !found.hasLongEntities else {
      throw .unsupported("SVG with entities that are more than short text")
    }
    var pictures: [[UInt8]] = []
    for location in found.pictureLocations {
      guard let url = dataURL(location) else { continue }
      guard let picture = DataURL.contents(ofText: url) else {
        throw .corrupt("a picture inside it has no valid data")
      }
      if !picture.isEmpty { pictures.append(picture) }
    }
    return pictures
  }

  private static func format(of picture: [UInt8]) throws(DecodeError) -> ImageFormat {
    guard case .picture(let format) = FormatSniffer.sniff(picture) else {
      throw .corrupt("a picture inside it is of no known format")
    }
    // For other formats librsvg would load code, which a locked decoder does not.
    guard [.svg, .jpeg, .png].contains(format) else {
      throw .unsupported("SVG with a picture of the format \(format.rawValue) inside")
    }
    return format
  }

  private static func text(of bytes: [UInt8]) throws(DecodeError) -> [UInt8] {
    let text = GzipHead.inflated(bytes[...], upTo: maximumByteCount + 1) ?? bytes
    guard max(text.count, bytes.count) <= maximumByteCount else {
      throw .unsupported("SVG of more than \(maximumByteCount >> 20) MiB")
    }
    return text
  }

  /// A `data:` URL as parsers of URLs take it: three characters do not count anywhere in a URL, and
  /// white space and control characters do not count before it (WHATWG URL Standard, section 4.4).
  private static func dataURL(_ location: [UInt8]) -> [UInt8]? {
    let url = location.drop { $0 <= 0x20 }.filter { !"\t\n\r".utf8.contains($0) }
    let scheme = String(decoding: url.prefix(5), as: UTF8.self).lowercased()
    return scheme == "data:" ? Array(scheme.utf8) + url.dropFirst(5) : nil
  }
}
