import ImgModel
import ImgSniff

extension PictureFacts {
  /// How far into a file its format is looked for, step by step: only the root element of an SVG may
  /// stand far behind its beginning.
  private static let sniffedByteCounts = [1_000, 4_096, 16_384, FormatSniffer.examinedByteCount]

  /// Reads facts from as few bytes as the format allows.
  ///
  /// The function is pure. On ``FactsError/needsBytes(_:)`` the caller adds the range to the source
  /// and calls again; ``FactsQuery`` does that, and bounds how often.
  ///
  /// - Parameter toleratesCut: whether a GIF or WebP that ends early has the facts before its end.
  /// - Returns: what the extent asks for. The same bytes always give the same facts.
  package static func reading(
    _ source: any ByteSource, _ extent: FactsExtent, toleratesCut: Bool = false
  ) throws(FactsError) -> PictureFacts {
    let window = ByteWindow(source)
    var facts = try facts(in: window, as: format(in: window), extent, toleratesCut)
    if facts.colours == nil, facts.profileDescription != nil {
      facts.colours = ColourDescription(profileBeside: nil)
    }
    return facts
  }

  private static func facts(
    in window: ByteWindow, as format: ImageFormat, _ extent: FactsExtent, _ toleratesCut: Bool
  ) throws(FactsError) -> PictureFacts {
    switch format {
    case .jpeg: return try JPEGFacts.facts(in: window, extent)
    case .png: return try PNGFacts.facts(in: window, extent)
    case .gif: return try GIFFacts.facts(in: window, extent, toleratesCut)
    case .webp: return try WebPFacts.facts(in: window, extent, toleratesCut)
    case .tiff: return try TIFFFacts.facts(in: window, extent)
    case .heif: return try HEIFFacts.facts(in: window, as: .heif, extent)
    case .avif: return try HEIFFacts.facts(in: window, as: .avif, extent)
    case .jxl: return try JXLFacts.facts(in: window, extent)
    case .jp2: return try JPEG2000Facts.facts(in: window, extent)
    case .svg: return try SVGFacts.facts(in: window)
    case .bmp: return try BitmapFacts.facts(in: window, extent)
    case .ico: return try IconFacts.facts(in: window, extent)
    case .pnm: return try AnymapHeader.facts(in: window)
    }
  }

  /// Fewer do not tell any format from what is none.
  private static let minimumByteCount = 18

  private static func format(in window: ByteWindow) throws(FactsError) -> ImageFormat {
    for byteCount in sniffedByteCounts {
      let head = try window.bytes(at: 0, upTo: byteCount)
      switch FormatSniffer.sniff(head) {
      case .picture(let format): return format
      case .unsupported(let name): throw .unsupported("\(name) is not read")
      case .notAnImage:
        guard head.count >= minimumByteCount || !FormatSniffer.isBeginning(head) else {
          throw .truncated
        }
        if let rejection = FormatSniffer.rejection(of: head) {
          throw .notAnImage(rejection.detail)
        }
        // The bytes end where more of them may make a picture.
        guard head.count == byteCount else { throw .truncated }
      }
    }
    throw .notAnImage("the first bytes match no image format")
  }
}
