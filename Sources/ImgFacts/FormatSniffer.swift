import CZlib
package import ImgModel

/// Tells by its first bytes what a body is. Pure, and independent of what an origin claims.
package enum FormatSniffer {
  /// What the first bytes say.
  package enum Finding: Hashable, Sendable {
    /// A format that is decoded.
    case picture(ImageFormat)
    /// A format of pictures or pages, named for people, that is known and not taken.
    case unsupported(String)
    /// No format that is known.
    case notAnImage
  }

  /// How far into a body anything is looked for: the root element of an SVG may stand behind a long
  /// comment. Every other format shows itself within ``rejectedByteCount``.
  package static let examinedByteCount = 65_536

  /// How many bytes ``rejection(of:)`` takes.
  package static let rejectedByteCount = 1_000

  /// Why a body is not worth fetching whole, by its first ``rejectedByteCount`` bytes; `nil` when
  /// it may be a picture.
  ///
  /// - Parameter allowed: the optional formats that are decoded.
  package static func rejection(
    of head: [UInt8], allowing allowed: [ImageFormat] = []
  ) -> Failure? {
    guard verdict(onXML: head[...]) != .undecided else { return nil }
    do throws(Failure) {
      _ = try format(of: head, allowing: allowed)
      return nil
    } catch {
      return error
    }
  }

  /// The format of a body that is decoded.
  ///
  /// - Parameter allowed: the optional formats that are decoded.
  /// - Throws: a ``Failure`` of stage `decode`: `not_an_image` or `unsupported_format`. The first
  ///   ``examinedByteCount`` bytes of a body give the same answer as all of it.
  package static func format(
    of body: [UInt8], allowing allowed: [ImageFormat] = []
  ) throws(Failure) -> ImageFormat {
    switch sniff(body) {
    case .picture(let format) where format.isOptional && !allowed.contains(format):
      throw Failure(
        stage: .decode, code: .unsupportedFormat,
        detail: "\(format.rawValue) is not decoded without --allow-format \(format.rawValue)")
    case .picture(let format):
      return format
    case .unsupported(let name):
      throw Failure(stage: .decode, code: .unsupportedFormat, detail: "\(name) is not decoded")
    case .notAnImage:
      throw Failure(
        stage: .decode, code: .notAnImage, detail: NotAnImage.reason(of: body.prefix(512)))
    }
  }

  package static func sniff(_ body: [UInt8]) -> Finding {
    let head = body.prefix(examinedByteCount)
    if let signature = signatures.first(where: { $0.matches(head) }) { return signature.finding }
    if let finding = isoMedia(head) { return finding }
    if isWindowsBitmap(head) { return .picture(.bmp) }
    if isWindowsIcon(head) { return .picture(.ico) }
    if isPortableAnymap(head) { return .picture(.pnm) }
    return verdict(onXML: head) == .svg ? .picture(.svg) : .notAnImage
  }

  /// An SVG may be compressed as a whole (SVG 1.1 section 3.2: `.svgz`).
  static func verdict(onXML head: ArraySlice<UInt8>) -> XMLPrologue.Verdict {
    guard let inflated = GzipHead.inflated(head, upTo: examinedByteCount) else {
      return XMLPrologue.verdict(on: head)
    }
    return XMLPrologue.verdict(on: inflated[...])
  }

  // MARK: - Fixed signatures

  /// Bytes that begin every file of a format, and a second run of bytes further in where the first
  /// belongs to several formats.
  struct Signature: Sendable {
    let start: [UInt8]
    var later: (offset: Int, bytes: [UInt8])?
    let finding: Finding

    init(_ start: [UInt8], _ finding: Finding) {
      self.start = start
      self.finding = finding
    }

    init(_ text: StaticString, at offset: Int? = nil, later: String = "", _ finding: Finding) {
      start = Array(text.description.utf8)
      self.later = offset.map { ($0, Array(later.utf8)) }
      self.finding = finding
    }

    func matches(_ head: ArraySlice<UInt8>) -> Bool {
      guard head.starts(with: start) else { return false }
      guard let later else { return true }
      return head.dropFirst(later.offset).starts(with: later.bytes)
    }

    /// Whether bytes that end before the signature does agree with it.
    func isBegun(by head: ArraySlice<UInt8>) -> Bool {
      guard head.count >= start.count else { return start.starts(with: head) }
      guard head.starts(with: start), let later else { return false }
      return later.bytes.starts(with: head.dropFirst(later.offset))
    }
  }

  static let signatures: [Signature] = [
    Signature([0xFF, 0xD8, 0xFF], .picture(.jpeg)),
    Signature([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .picture(.png)),
    Signature("RIFF", at: 8, later: "WEBP", .picture(.webp)),
    Signature("GIF87a", .picture(.gif)),
    Signature("GIF89a", .picture(.gif)),
    // TIFF 6.0 section 2, then BigTIFF's version 43; each in both byte orders.
    Signature([0x49, 0x49, 0x2A, 0x00], .picture(.tiff)),
    Signature([0x4D, 0x4D, 0x00, 0x2A], .picture(.tiff)),
    Signature([0x49, 0x49, 0x2B, 0x00], .picture(.tiff)),
    Signature([0x4D, 0x4D, 0x00, 0x2B], .picture(.tiff)),
    // JPEG XL (ISO/IEC 18181): the bare codestream, then the container of boxes.
    Signature([0xFF, 0x0A], .picture(.jxl)),
    Signature([0, 0, 0, 0x0C] + Array("JXL \r\n".utf8) + [0x87, 0x0A], .picture(.jxl)),
    // JPEG 2000 (ITU-T T.800): the container of boxes, then the bare codestream.
    Signature([0, 0, 0, 0x0C] + Array("jP  \r\n".utf8) + [0x87, 0x0A], .picture(.jp2)),
    Signature([0xFF, 0x4F, 0xFF, 0x51], .picture(.jp2)),
    // The first line of an arbitrary anymap (PAM); thumbnails of the program xv begin with "P7", too.
    Signature("P7\nWIDTH ", .picture(.pnm)),
    Signature("P7\nHEIGHT ", .picture(.pnm)),
    Signature("P7\nDEPTH ", .picture(.pnm)),
    Signature("P7\nMAXVAL ", .picture(.pnm)),
    Signature("P7\nTUPLTYPE ", .picture(.pnm)),
    Signature("P7\n#", .picture(.pnm)),
    Signature("icns", .unsupported("icns")),
    Signature("8BPS", .unsupported("psd")),
    Signature("%PDF-", .unsupported("pdf")),
    Signature("%!PS", .unsupported("postscript")),
    Signature("qoif", .unsupported("qoi")),
    Signature("#?RADIANCE", .unsupported("hdr")),
    Signature("#?RGBE", .unsupported("hdr")),
    Signature([0x76, 0x2F, 0x31, 0x01], .unsupported("exr")),
    Signature("DDS ", .unsupported("dds")),
    Signature("gimp xcf", .unsupported("xcf")),
    Signature("SIMPLE  =", .unsupported("fits")),
    Signature([0x8A, 0x4D, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .unsupported("mng")),
    Signature([0x49, 0x49, 0xBC, 0x01], .unsupported("jpeg xr")),
    Signature("FUJIFILMCCD-RAW", .unsupported("raf")),
    Signature([0x49, 0x49, 0x52, 0x4F], .unsupported("orf")),
    Signature([0x49, 0x49, 0x55, 0x00], .unsupported("rw2")),
    Signature("AT&TFORM", .unsupported("djvu")),
  ]

  // MARK: - Formats that take more than a comparison

  /// HEIF and AVIF are ISO base media files (ISO/IEC 14496-12): a first box `ftyp` with a major
  /// brand, a version and compatible brands. The structural brand `mif1` may hold either codec, so
  /// the compatible brands decide; a film in the same container is not an image.
  private static func isoMedia(_ head: ArraySlice<UInt8>) -> Finding? {
    guard head.count >= 12, head.dropFirst(4).starts(with: "ftyp".utf8) else { return nil }
    let boxByteCount = head.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    let box = Array(head.prefix(boxByteCount))
    guard box.count >= 12 else { return .notAnImage }
    let offsets = [8] + stride(from: 16, through: box.count - 4, by: 4)
    let brands = Set(offsets.map { String(decoding: box[$0..<$0 + 4], as: UTF8.self) })
    if !brands.isDisjoint(with: ["avif", "avis"]) { return .picture(.avif) }
    let heifBrands: Set = [
      "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs", "mif1", "msf1",
    ]
    if !brands.isDisjoint(with: heifBrands) { return .picture(.heif) }
    return brands.contains("crx ") ? .unsupported("cr3") : .notAnImage
  }

  /// "BM" alone also begins text, so the size of the second header must be one that exists.
  private static func isWindowsBitmap(_ head: ArraySlice<UInt8>) -> Bool {
    guard head.starts(with: "BM".utf8), head.count >= 18 else { return false }
    let headerByteCount = head.dropFirst(14).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    return [12, 16, 40, 52, 56, 64, 108, 124].contains(headerByteCount)
  }

  /// Icons are of type 1, cursors of type 2. A TGA of 24 or 32 bits begins like a cursor, and has the
  /// fields of a colour table that is not there in place of the number of pictures.
  private static func isWindowsIcon(_ head: ArraySlice<UInt8>) -> Bool {
    let start = Array(head.prefix(6))
    return start.count == 6 && [[0, 0, 1, 0], [0, 0, 2, 0]].contains(start[..<4])
      && start[4...] != [0, 0]
  }

  /// "P1" … "P6" and the floating-point "PF" and "Pf", each followed by white space or a comment, and a number.
  /// Lines of words begin the same.
  private static func isPortableAnymap(_ head: ArraySlice<UInt8>) -> Bool {
    let start = Array(head.prefix(4))
    guard start.count >= 3, anymapStarts.contains(Array(start[..<3])) else { return false }
    guard start[2] != UInt8(ascii: "#"), start.count > 3 else { return true }
    return " \t\r\n#0123456789".utf8.contains(start[3])
  }

  static let anymapStarts = "123456Ff".utf8.flatMap { kind in
    " \t\r\n#".utf8.map { [UInt8(ascii: "P"), kind, $0] }
  }
}

extension FormatSniffer {
  /// Whether a body that is too short to be any picture is the beginning of one, as far as that can be
  /// told.
  package static func isBeginning(_ body: [UInt8]) -> Bool {
    let head = body[...]
    return signatures.contains { $0.isBegun(by: head) }
      || isoMediaStarts.contains { $0.starts(with: head) || head.starts(with: $0) }
      || windowsStarts.contains { $0.starts(with: head) || head.starts(with: $0) }
      || anymapStarts.contains { $0.starts(with: head) }
      || verdict(onXML: head) == .undecided || gzipStart.starts(with: head)
  }

  /// Lengths of a first box, and its type.
  private static let isoMediaStarts = (8...64).map { [0, 0, 0, $0] + Array("ftyp".utf8) }
  private static let windowsStarts: [[UInt8]] = [Array("BM".utf8), [0, 0, 1, 0], [0, 0, 2, 0]]
  private static let gzipStart: [UInt8] = [0x1F, 0x8B]
}

/// Describes a body that is no picture by its first bytes, so that people see at once that an
/// origin answered with a page of its own.
enum NotAnImage {
  static func reason(of head: ArraySlice<UInt8>) -> String {
    guard !head.isEmpty else { return "the body is empty" }
    let start = String(decoding: head, as: UTF8.self).drop(while: \.isWhitespace).lowercased()
    if ["<!doctype html", "<html", "<head", "<body", "<script"].contains(where: start.hasPrefix) {
      return Failure.pageDetail
    }
    if start.hasPrefix("{") || start.hasPrefix("[") { return "the body looks like JSON" }
    if start.hasPrefix("<") { return "the body is XML, but no SVG" }
    return "the first bytes match no image format"
  }
}

/// Decompresses with zlib.
enum Inflation {
  /// - Parameters:
  ///   - maximumByteCount: of the output, for which that much memory is taken.
  ///   - start: prepares the stream for its kind of header.
  /// - Returns: what comes out before the end or an error; `nil` when zlib has no memory.
  static func output(
    of data: ArraySlice<UInt8>, upTo maximumByteCount: Int,
    start: (UnsafeMutablePointer<z_stream>) -> CInt
  ) -> [UInt8]? {
    var stream = unsafe z_stream()
    guard unsafe start(&stream) == Z_OK else { return nil }
    defer { unsafe inflateEnd(&stream) }
    // zlib only reads the input, yet declares it as not const.
    var input = Array(data)
    return unsafe input.withUnsafeMutableBufferPointer { input in
      unsafe stream.next_in = input.baseAddress
      unsafe stream.avail_in = UInt32(input.count)
      return unsafe [UInt8](unsafeUninitializedCapacity: maximumByteCount) { output, count in
        unsafe stream.next_out = output.baseAddress
        unsafe stream.avail_out = UInt32(maximumByteCount)
        // Whatever it ends with: what came out before counts.
        unsafe inflate(&stream, Z_SYNC_FLUSH)
        count = unsafe maximumByteCount - Int(stream.avail_out)
      }
    }
  }
}

/// Inflates the beginning of a gzip file (RFC 1952).
package enum GzipHead {
  private static let signature: [UInt8] = [0x1F, 0x8B]

  /// - Parameter head: the file's first bytes.
  /// - Returns: what comes out of them, at most `maximumByteCount` bytes; `nil` when it is no such
  ///   file.
  package static func inflated(_ head: ArraySlice<UInt8>, upTo maximumByteCount: Int) -> [UInt8]? {
    guard head.starts(with: signature) else { return nil }
    return unsafe Inflation.output(of: head, upTo: maximumByteCount) { stream in
      unsafe img_inflate_init_gzip(stream)
    }
  }
}

/// Finds the root element of an XML document behind all that may stand before it (XML 1.0 section
/// 2.8), to tell an SVG from a web page that merely holds one. Reads UTF-8 and UTF-16.
package enum XMLPrologue {
  enum Verdict: Equatable {
    /// The root element is `svg`, under whatever prefix of a namespace.
    case svg
    /// It is another one, or this is no XML.
    case other
    /// The bytes end before the root element, and nothing speaks against one.
    case undecided
  }

  static func verdict(on head: ArraySlice<UInt8>) -> Verdict {
    rootElement(in: head).map { verdict(onElement: $0) } ?? .undecided
  }

  /// The document in UTF-8 from its first element on, or from what stands in its place.
  ///
  /// - Returns: `nil` when the bytes end before it.
  package static func rootElement(in head: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var rest = text(of: head)
    while true {
      rest = rest.drop(while: isWhiteSpace)
      guard !rest.isEmpty else { return nil }
      if rest.starts(with: "<!--".utf8) {
        guard let end = end(of: "-->", in: rest.dropFirst(4)) else { return nil }
        rest = rest[end...]
      } else if rest.starts(with: "<?".utf8) {
        guard let end = end(of: "?>", in: rest.dropFirst(2)) else { return nil }
        rest = rest[end...]
      } else if rest.starts(with: "<!DOCTYPE".utf8) {
        guard let end = endOfDocumentType(in: rest) else { return nil }
        rest = rest[end...]
      } else {
        return rest
      }
    }
  }

  private static func verdict(onElement rest: ArraySlice<UInt8>) -> Verdict {
    guard rest.first == UInt8(ascii: "<") else { return .other }
    let isEnd = { (byte: UInt8) in
      isWhiteSpace(byte) || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/")
    }
    let name = rest.dropFirst().prefix { !isEnd($0) }
    guard name.endIndex < rest.endIndex else { return .undecided }
    // Names are an optional prefix, a colon and the name itself (Namespaces in XML 1.0 section 4).
    let localName = name.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).last
    return localName?.elementsEqual("svg".utf8) == true ? .svg : .other
  }

  /// The document in UTF-8. One in UTF-16 begins with a byte order mark (XML 1.0 section 4.3.3).
  private static func text(of head: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let bytes = Array(head)
    switch bytes.prefix(2) {
    case [0xFE, 0xFF]: return utf8(units(of: bytes) { UInt16($0) << 8 | UInt16($1) })
    case [0xFF, 0xFE]: return utf8(units(of: bytes) { UInt16($1) << 8 | UInt16($0) })
    default: return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
    }
  }

  /// The code units behind the byte order mark.
  private static func units(
    of bytes: [UInt8], _ unit: (UInt8, UInt8) -> UInt16
  ) -> [UInt16] {
    stride(from: 2, to: bytes.count - 1, by: 2).map { unit(bytes[$0], bytes[$0 + 1]) }
  }

  private static func utf8(_ units: [UInt16]) -> ArraySlice<UInt8> {
    Array(String(decoding: units, as: UTF16.self).utf8)[...]
  }

  /// A document type may hold an internal subset in brackets, with declarations of its own.
  private static func endOfDocumentType(in rest: ArraySlice<UInt8>) -> Int? {
    var isInSubset = false
    for index in rest.indices {
      switch rest[index] {
      case UInt8(ascii: "["): isInSubset = true
      case UInt8(ascii: "]"): isInSubset = false
      case UInt8(ascii: ">") where !isInSubset: return index + 1
      default: break
      }
    }
    return nil
  }

  /// The index after the first occurrence of `mark`.
  private static func end(of mark: StaticString, in rest: ArraySlice<UInt8>) -> Int? {
    let wanted = Array(mark.description.utf8)
    return rest.indices.first { rest[$0...].starts(with: wanted) }.map { $0 + wanted.count }
  }

  private static func isWhiteSpace(_ byte: UInt8) -> Bool {
    " \t\r\n".utf8.contains(byte)
  }
}
