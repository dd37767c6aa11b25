import ImgModel
import ImgSniff

/// Whether a picture whose end has not arrived can be shown, judged by what has arrived.
package enum PreviewProspect: Hashable, Sendable {
  /// The picture shows nothing of itself before its end, or only its first rows.
  case none
  /// Too little has arrived to tell, or to show the whole picture.
  case later
  /// What has arrived shows the whole picture, coarsely.
  ///
  /// - scanCount: of a JPEG, how many scans are complete, because each of them refines it; 0 for
  ///   other formats, which every byte refines.
  /// - byteCount: the first bytes that show it. What a JPEG has behind its last complete scan may end
  ///   within a segment.
  case now(scanCount: Int, byteCount: Int)

  /// Bytes of a PNG up to its interlace method (PNG specification, section 11.2.1).
  private static let interlaceMethodOffset = 28

  /// - Parameter part: the first bytes of the picture.
  package init(of part: Span<UInt8>) {
    let head = unsafe part.extracting(first: FormatSniffer.examinedByteCount)
      .withUnsafeBufferPointer { unsafe Array($0) }
    guard case .picture(let format) = FormatSniffer.sniff(head) else {
      self = part.count < FormatSniffer.examinedByteCount ? .later : .none
      return
    }
    switch format {
    case .jpeg: self = JPEGScans(in: part).prospect
    case .png where part.count <= Self.interlaceMethodOffset: self = .later
    case .png:
      self =
        part[Self.interlaceMethodOffset] == 1
        ? .now(scanCount: 0, byteCount: part.count) : .none
    case .gif: self = .now(scanCount: 0, byteCount: part.count)
    case .webp, .heif, .avif, .tiff, .jxl, .jp2, .svg, .bmp, .ico: self = .none
    }
  }
}
