import CXML
import ImgFacts
import ImgModel

/// A JPEG or PNG inside an SVG.
struct EmbeddedPicture {
  let pixelCount: Int64
  private let bytes: [UInt8]
  private let format: ImageFormat

  /// Reads the header.
  init(_ bytes: [UInt8], in format: ImageFormat) throws(DecodeError) {
    self.bytes = bytes
    self.format = format
    let size = try Self.withPicture(bytes, in: format) { (picture) throws(DecodeError) in
      picture.header.stored
    }
    pixelCount = Int64(size.width * size.height)
  }

  /// Decodes it to a single pixel, which shows whether it is whole.
  func check() throws(DecodeError) {
    try Self.withPicture(bytes, in: format) { (picture) throws(DecodeError) in
      let size = ThumbnailGeometry.Size(width: 1, height: 1)
      let frame = try picture.firstFrame(for: size)
      do throws(VipsError) {
        _ = try frame.preparedForScaling().scaled(to: size).inMemory()
      } catch {
        throw picture.reason(for: error)
      }
    }
  }

  private static func withPicture<Result>(
    _ bytes: [UInt8], in format: ImageFormat,
    _ body: (any OpenPicture) throws(DecodeError) -> Result
  ) throws(DecodeError) -> Result {
    do throws(DecodeError) {
      return try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(DecodeError) in
        let input = unsafe PictureInput(buffer)
        return try body(
          format == .jpeg ? JPEGPicture(input, .whole) : VipsPicture(input, in: format, .whole))
      }
    } catch {
      guard case .corrupt(let reason) = error else { throw error }
      throw .corrupt("a picture inside it: \(reason)")
    }
  }
}

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

/// What stands in the text of an SVG. It is read by the parser that librsvg draws from, with the same
/// options, so that both see the same elements and the same values.
struct SVGReader {
  /// Some programs declare the names of namespaces as entities, each a URL.
  private static let maximumEntityByteCount = 256

  /// The elements whose pictures librsvg draws (SVG 1.1 sections 5.7 and 15.18).
  private static let pictureElements = ["image", "feImage"]

  private(set) var elementCount = 0
  /// Whether an entity (XML 1.0 section 4) is more than short text: it refers to another one or to a
  /// file, or it is markup. The use of others makes a document only a little longer.
  private(set) var hasLongEntities = false
  /// Where the pictures are that it shows.
  private(set) var pictureLocations: [[UInt8]] = []
  private let maximumElementCount: Int

  /// Reads the document up to its end, to an error, which librsvg will also find, or to what no
  /// document may have.
  ///
  /// - Parameter maximumElementCount: reading ends after one more.
  init(_ document: [UInt8], maximumElementCount: Int) {
    self.maximumElementCount = maximumElementCount
    let parser = unsafe document.withUnsafeBytes { bytes in
      unsafe xmlCreateMemoryParserCtxt(
        bytes.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(bytes.count))
    }
    guard let parser = unsafe parser else { return }
    defer { unsafe Self.free(parser) }
    unsafe Self.configure(parser)
    unsafe withUnsafeMutablePointer(to: &self) { reader in
      unsafe parser.pointee._private = UnsafeMutableRawPointer(reader)
      // Its result says whether the document has errors.
      _ = unsafe xmlParseDocument(parser)
    }
  }

  private static func free(_ parser: UnsafeMutablePointer<xmlParserCtxt>) {
    unsafe xmlFreeDoc(parser.pointee.myDoc)
    unsafe xmlFreeParserCtxt(parser)
  }

  // MARK: - The parser

  private static func configure(_ parser: UnsafeMutablePointer<xmlParserCtxt>) {
    _ = unsafe xmlCtxtUseOptions(
      parser, CInt(XML_PARSE_NONET.rawValue | XML_PARSE_NOENT.rawValue))
    // What is declared is kept by the functions of libxml2, and nothing else of the document is.
    guard let handler = unsafe parser.pointee.sax else { return }
    unsafe handler.pointee.startElementNs = { parser, name, _, _, _, _, count, _, attributes in
      unsafe SVGReader.with(parser) { reader in
        unsafe reader.begin(name, Attributes(count: Int(count), fields: attributes))
      }
    }
    unsafe handler.pointee.entityDecl = { parser, name, type, publicID, systemID, content in
      let isKept = unsafe SVGReader.with(parser) { reader in
        unsafe reader.declare(xmlEntityType(UInt32(type)), content)
      }
      guard isKept else { return }
      unsafe xmlSAX2EntityDecl(parser, name, type, publicID, systemID, content)
    }
    unsafe handler.pointee.serror = { _, _ in }
    unsafe handler.pointee.endElementNs = nil
    unsafe handler.pointee.characters = nil
    unsafe handler.pointee.cdataBlock = nil
    unsafe handler.pointee.ignorableWhitespace = nil
    unsafe handler.pointee.comment = nil
    unsafe handler.pointee.processingInstruction = nil
    unsafe handler.pointee.reference = nil
    unsafe handler.pointee.externalSubset = nil
    unsafe handler.pointee.resolveEntity = nil
  }

  /// - Parameter body: returns whether the parser goes on.
  @discardableResult private static func with(
    _ context: UnsafeMutableRawPointer?, _ body: (inout SVGReader) -> Bool
  ) -> Bool {
    guard let parser = unsafe context?.assumingMemoryBound(to: xmlParserCtxt.self),
      let reader = unsafe parser.pointee._private?.assumingMemoryBound(to: SVGReader.self)
    else { return false }
    let goesOn = unsafe body(&reader.pointee)
    if !goesOn { unsafe xmlStopParser(parser) }
    return goesOn
  }

  // MARK: - What it finds

  /// The attributes of one element, as libxml2 passes them for the time of a call: five pointers each.
  @safe private struct Attributes {
    private static let fieldCount = 5
    private static let valueField = 3
    private static let endField = 4

    let count: Int
    let fields: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?

    /// The values of those with a name, without regard to the namespace.
    func values(named name: String) -> [[UInt8]] {
      guard let fields = unsafe fields else { return [] }
      return (0..<count).compactMap { index in
        let attribute = unsafe fields + index * Self.fieldCount
        guard let found = unsafe attribute[0], unsafe String(cString: found) == name,
          let start = unsafe attribute[Self.valueField],
          let end = unsafe attribute[Self.endField]
        else { return nil }
        return unsafe Array(UnsafeBufferPointer(start: start, count: end - start))
      }
    }
  }

  private mutating func begin(
    _ name: UnsafePointer<xmlChar>?, _ attributes: Attributes
  ) -> Bool {
    elementCount += 1
    if let name = unsafe name, unsafe Self.pictureElements.contains(String(cString: name)) {
      pictureLocations += attributes.values(named: "href")
    }
    return elementCount <= maximumElementCount
  }

  private mutating func declare(
    _ type: xmlEntityType, _ content: UnsafeMutablePointer<xmlChar>?
  ) -> Bool {
    let text = unsafe content.map { unsafe String(cString: $0) } ?? ""
    let isShortText =
      type == XML_INTERNAL_GENERAL_ENTITY && text.utf8.count <= Self.maximumEntityByteCount
      && !text.utf8.contains { "&%<".utf8.contains($0) }
    if !isShortText { hasLongEntities = true }
    return isShortText
  }
}
