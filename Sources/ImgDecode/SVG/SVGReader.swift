import CXML

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
