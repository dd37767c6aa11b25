import ImgModel

@testable import ImgDecode
@testable import ImgFacts
@testable import ImgFetch

/// Bodies with a Content-Encoding.
extension FuzzTarget {
  /// What comes out does not depend on the chunks in which a body arrives.
  static let encodedBodies = [
    FuzzTarget(
      "gzip-body",
      seeds: [
        [
          0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3, 0x4B, 0x4C, 0x4A, 0x4E, 0x24, 5, 1, 0, 0xD2, 0x73,
          0xC0,
          0xD0, 0x30, 0, 0, 0,
        ]
      ]
    ) { check($0, "gzip") },
    FuzzTarget(
      "deflate-body",
      seeds: [[0x78, 0xDA, 0x4B, 0x4C, 0x4A, 0x4E, 0x24, 5, 1, 0, 0xC2, 0x4F, 0x12, 0x61]]
    ) { check($0, "deflate") },
    FuzzTarget(
      "brotli-body",
      seeds: [[0x1B, 0x2F, 0, 0xF8, 0x25, 0xC3, 0xC4, 0xC6, 0xC2, 0x9B, 0x20, 0xE0, 0x34]]
    ) { check($0, "br") },
    FuzzTarget(
      "zstd-body",
      seeds: [
        [
          0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x30, 0x4D, 0, 0, 0x18, 0x61, 0x62, 0x63, 1, 0, 0x6A, 0xBA,
          0x21,
        ]
      ]
    ) { check($0, "zstd") },
  ]

  private static let maximumByteCount = 1 << 20

  @Sendable private static func check(_ body: [UInt8], _ coding: String) {
    let whole = decoded(body, coding, chunkByteCount: max(body.count, 1))
    guard let whole, whole.count <= maximumByteCount else { return }
    precondition(whole == decoded(body, coding, chunkByteCount: 1), "the chunks make a difference")
  }

  /// - Returns: `nil` for what is no body of that coding, or not a whole one.
  private static func decoded(_ body: [UInt8], _ coding: String, chunkByteCount: Int) -> [UInt8]? {
    var fields = HeadFields()
    fields.take(line: Array("Content-Encoding: \(coding)".utf8))
    let head = ResponseHead(status: 200, fields: fields, receivedAt: .distantPast)
    guard let decoding = try? ContentDecoding(head, maximumByteCount: maximumByteCount) else {
      return nil
    }
    var content: [UInt8] = []
    for start in stride(from: 0, to: body.count, by: chunkByteCount) {
      let chunk = Array(body[start...].prefix(chunkByteCount))
      let reception = unsafe chunk.withUnsafeBufferPointer { chunk in
        unsafe decoding.receive(chunk) { piece in
          guard content.count <= maximumByteCount else { return .stop(.bodyTooLong) }
          unsafe content.append(contentsOf: piece)
          return .taken
        }
      }
      switch reception {
      case .taken: break
      case .wait, .stop: return nil
      }
    }
    return decoding.truncation == nil ? content : nil
  }
}

/// The formats of bodies, by their first bytes.
extension FuzzTarget {
  static let sniffing = [
    FuzzTarget(
      "format",
      seeds: heads(of: ["GIF89a", "\u{89}PNG\r\n", "BM", "<svg/>", "P6 1", "P7\nWIDTH 1"])
    ) { body in
      let rejection = FormatSniffer.rejection(of: body)
      let finding = FormatSniffer.sniff(body)
      // What is rejected by its first bytes is no format of all of them.
      if rejection != nil, (try? FormatSniffer.format(of: body)) != nil {
        preconditionFailure("\(finding) is rejected")
      }
    },
    FuzzTarget(
      "xml-prologue",
      seeds: [
        Array("<?xml version=\"1.0\"?><!-- a --><!DOCTYPE svg [<!ENTITY a \"b\">]><svg>".utf8),
        [0xFE, 0xFF] + "<svg/>".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] },
      ]
    ) { _ = XMLPrologue.verdict(on: $0[...]) },
    FuzzTarget("gzip-head", seeds: [[0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xB3, 0x01, 0]]) { bytes in
      guard let inflated = GzipHead.inflated(bytes[...], upTo: 1_000) else { return }
      precondition(inflated.count <= 1_000, "more is inflated than asked for")
    },
  ]

  private static func heads(of texts: [String]) -> [[UInt8]] {
    texts.map { $0.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } + [0, 0, 0, 0] }
  }
}

/// Facts of pictures, from whole files and from parts of them.
extension FuzzTarget {
  static let facts = [
    FuzzTarget("picture-facts", seeds: seeds) { file in
      for extent in FactsExtent.allCases {
        let facts = try? PictureFacts.reading(WholeBytes(file), extent)
        guard let found = factsByRanges(of: file, extent) else { continue }
        precondition(facts == nil || facts == found, "parts of a file give other facts")
      }
    },
    FuzzTarget("xmp-packet", texts: [xmp]) { _ = XMPFacts(Array($0.utf8)) },
    FuzzTarget("iptc-record", seeds: [[0x1C, 2, 25, 0, 3, 97, 98, 99, 0x1C, 2, 120, 0, 1, 100]]) {
      _ = try? IPTCRecord.datasets(in: ByteWindow(decoded: $0))
    },
    FuzzTarget("icc-description", seeds: [Array(repeating: 0, count: 131) + [1]]) {
      _ = try? ICCDescription.text(in: ByteWindow(decoded: $0))
    },
  ]

  private static let xmp = """
    <x:xmpmeta><rdf:RDF><rdf:Description xmp:Rating="5"><dc:title><rdf:Alt>
    <rdf:li xml:lang="x-default">A &amp; B</rdf:li></rdf:Alt></dc:title></rdf:Description></rdf:RDF>
    """

  /// Beginnings of files in each format that is read.
  private static let seeds: [[UInt8]] = [
    [0xFF, 0xD8, 0xFF, 0xE1, 0, 34] + Array("Exif\0\0II*\0".utf8) + [8, 0, 0, 0, 1, 0]
      + [0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]
      + [0xFF, 0xC2, 0, 11, 8, 0, 4, 0, 6, 1, 1, 0x11, 0, 0xFF, 0xDA],
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
      + [0, 0, 0, 5, 0, 0, 0, 7, 8, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8] + Array("acTL".utf8)
      + [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + Array("IDAT".utf8),
    Array("GIF89a".utf8) + [5, 0, 7, 0, 0, 0, 0, 0x21, 0xF9, 4, 1, 10, 0, 0, 0]
      + [0x2C, 0, 0, 0, 0, 5, 0, 7, 0, 0, 2, 1, 0, 0, 0x3B],
    Array("RIFF".utf8) + [50, 0, 0, 0] + Array("WEBPVP8X".utf8)
      + [10, 0, 0, 0, 0x02, 0, 0, 0, 4, 0, 0, 6, 0, 0] + Array("ANMF".utf8)
      + [16, 0, 0, 0] + Array(repeating: 1, count: 16),
    Array("II*\0".utf8) + [8, 0, 0, 0, 2, 0, 0, 1, 3, 0, 1, 0, 0, 0, 5, 0, 0, 0]
      + [1, 1, 3, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0],
    heif,
    [0, 0, 0, 12] + Array("JXL \r\n".utf8) + [0x87, 0x0A]
      + box("Exif", [0, 0, 0, 0] + Array("II*\0".utf8) + [8, 0, 0, 0, 0, 0])
      + box("jxlc", [0xFF, 0x0A, 0xC1, 0x03, 0, 0, 0, 0]),
    [0xFF, 0x4F, 0xFF, 0x51, 0, 41, 0, 0, 0, 0, 0, 5, 0, 0, 0, 7]
      + Array(repeating: 0, count: 24) + [0, 1, 7, 1, 1],
    Array("P7\nWIDTH 5\nHEIGHT 7\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n".utf8),
    Array("P6\n# a comment\n5 7 255\n".utf8), Array("PF 5 7 -1.0\n".utf8),
    Array("<svg width='5' height='7mm' viewBox='0 0 5 7'>".utf8),
  ]

  /// A file of one item with a size and a turn.
  private static let heif =
    box("ftyp", Array("avifmif1".utf8))
    + box(
      "meta",
      [0, 0, 0, 0] + box("pitm", [0, 0, 0, 0, 0, 1])
        + box("iloc", [0, 0, 0, 0, 0x44, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9])
        + box("iref", [0, 0, 0, 0] + box("thmb", [0, 1, 0, 1, 0, 1]))
        + box(
          "iprp",
          box("ipco", box("ispe", [0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 7]) + box("irot", [1]))
            + box("ipma", [0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 2, 1, 0x82])))

  /// A box of at most 65,535 bytes.
  static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    let count = content.count + 8
    return [0, 0, UInt8(count >> 8), UInt8(count & 0xFF)] + Array(type.utf8) + content
  }

  /// Facts of a file that arrives in small ranges.
  private static func factsByRanges(of file: [UInt8], _ extent: FactsExtent) -> PictureFacts? {
    var bytes = PartialBytes()
    for _ in 0...file.count + 1 {
      do throws(FactsError) {
        return try PictureFacts.reading(bytes, extent)
      } catch {
        guard case .needsBytes(let range) = error else { return nil }
        precondition(!range.isEmpty, "an empty range is asked for")
        guard let missing = bytes.missing(in: range) else {
          preconditionFailure("a range that is at hand is asked for")
        }
        guard missing.lowerBound < file.count else {
          bytes.setByteCount(file.count)
          continue
        }
        let end = min(missing.upperBound, file.count)
        bytes.insert(Array(file[missing.lowerBound..<end]), at: missing.lowerBound)
        if end < missing.upperBound { bytes.setByteCount(file.count) }
      }
    }
    preconditionFailure("more ranges than bytes are asked for")
  }
}

/// Pictures whose end has not arrived.
extension FuzzTarget {
  static let previews = [
    // Checksums would hide what is behind them.
    FuzzTarget("png-preview", seeds: [interlacedPNG]) { run(interlacedPNG: withChecksums($0)) },
    FuzzTarget("png-preview-chunks", seeds: [interlacedPNG]) { run(interlacedPNG: $0) },
    FuzzTarget("gif-preview", seeds: [interlacedGIF]) { file in
      show(file) { (input) throws(DecodeError) in try GIFPart(input) }
    },
    FuzzTarget("preview-prospect", seeds: [interlacedPNG, interlacedGIF, scans]) { file in
      guard case .now(let byteCount) = PreviewProspect(of: file.span) else { return }
      precondition(byteCount <= file.count, "what is shown has arrived")
    },
  ]

  private static let maximumPixelCount = 1 << 12

  private static func run(interlacedPNG file: [UInt8]) {
    show(file) { (input) throws(DecodeError) in try InterlacedPNG(input) }
  }

  private static func show(
    _ file: [UInt8], _ open: (PictureInput) throws(DecodeError) -> any OpenPicture
  ) {
    precondition(canDecode, "libvips does not start")
    unsafe file.withUnsafeBufferPointer { buffer in
      guard let picture = try? open(unsafe PictureInput(buffer)),
        // The decoding of more pixels only takes time.
        picture.header.stored.pixelCount <= maximumPixelCount,
        let frame = try? picture.firstFrame(for: .init(width: 1, height: 1)).inMemory()
      else { return }
      precondition(frame.size == picture.header.stored, "a frame has another size than its header")
    }
  }

  // MARK: - Seeds

  /// 3 × 2 pixels in gray: three passes of one pixel, and one of a row.
  private static let interlacedPNG =
    PNGHeader.signature + chunk("IHDR", [0, 0, 0, 3, 0, 0, 0, 2, 8, 0, 0, 0, 1])
    + chunk("IDAT", stored([0, 1, 0, 2, 0, 3, 0, 4, 5, 6])) + chunk("IEND", [])

  /// 2 × 2 pixels of two colours: a clear code, four indexes, and the end, of 3 bits each.
  private static let interlacedGIF: [UInt8] =
    Array("GIF89a".utf8) + [2, 0, 2, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255]
    + [0x21, 0xF9, 4, 1, 0, 0, 1, 0] + [0x2C, 0, 0, 0, 0, 2, 0, 2, 0, 0x40, 2]
    + [3, 0x44, 0x02, 0x05, 0, 0x3B]

  /// The markers of a progressive JPEG with two scans.
  private static let scans: [UInt8] =
    [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0, 0xFF, 0xC2, 0, 4, 8, 0] + [UInt8](repeating: 1, count: 8)
    + [0xFF, 0xDA, 0, 4, 1, 0, 5, 6, 0xFF, 0, 7, 0xFF, 0xDA, 0, 4, 1, 0, 5, 0xFF, 0xD9]
}
