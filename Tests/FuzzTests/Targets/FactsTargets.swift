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
  ]

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
