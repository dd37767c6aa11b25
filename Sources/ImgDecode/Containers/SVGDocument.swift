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

  /// Pixels of all pictures inside.
  let embeddedPixelCount: Int64

  /// - Throws: if the document has more than it may have.
  init(_ input: PictureInput) throws(DecodeError) {
    let bytes = input.bytes(at: 0, upTo: Self.maximumByteCount + 1)
    embeddedPixelCount = try Self.embeddedPixelCount(in: bytes, depth: 1)
  }

  private static func embeddedPixelCount(
    in bytes: [UInt8], depth: Int
  ) throws(DecodeError) -> Int64 {
    guard depth <= maximumDepth else {
      throw .unsupported("SVG with more than \(maximumDepth) SVGs inside each other")
    }
    let markup = SVGMarkup(try text(of: bytes))
    guard markup.elementCount <= maximumElementCount else {
      throw .unsupported("SVG with more than \(maximumElementCount) elements")
    }
    guard markup.hasPlainEntities else {
      throw .unsupported("SVG with entities that are more than short text")
    }
    var total: Int64 = 0
    for picture in markup.dataURLs.compactMap(DataURL.contents(ofText:)) {
      total = sum(total, try pixelCount(of: picture, depth: depth))
    }
    return total
  }

  /// Uncompressed, and in a form in which ASCII characters are single bytes.
  private static func text(of bytes: [UInt8]) throws(DecodeError) -> [UInt8] {
    let text = GzipHead.inflated(bytes[...], upTo: maximumByteCount + 1) ?? bytes
    guard max(text.count, bytes.count) <= maximumByteCount else {
      throw .unsupported("SVG of more than \(maximumByteCount >> 20) MiB")
    }
    // In UTF-16 the first character, a "<" or a byte order mark before it, shows the zero bytes.
    return text.prefix(4).contains(0) ? text.filter { $0 != 0 } : text
  }

  /// The size that the header of a picture inside declares, and what that contains. Damaged ones are
  /// not drawn, and of other formats no decoder is loaded.
  private static func pixelCount(of picture: [UInt8], depth: Int) throws(DecodeError) -> Int64 {
    guard case .picture(let format) = FormatSniffer.sniff(picture) else { return 0 }
    if format == .svg { return try embeddedPixelCount(in: picture, depth: depth + 1) }
    guard format == .jpeg || format == .png else { return 0 }
    let header = try? unsafe picture.withUnsafeBufferPointer { (buffer) throws(DecodeError) in
      let input = unsafe PictureInput(buffer)
      return format == .jpeg
        ? try JPEGPicture(input).header : try VipsPicture(input, in: format).header
    }
    guard let size = header?.stored else { return 0 }
    return Int64(size.width * size.height)
  }

  private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
    let (result, isOverflow) = first.addingReportingOverflow(second)
    return isOverflow ? .max : result
  }
}
