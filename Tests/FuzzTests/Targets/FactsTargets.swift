@testable import ImgFacts

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
