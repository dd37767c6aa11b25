import ImgModel
import ImgSniff

/// Whether a picture whose end has not arrived can be shown, judged by what has arrived.
package enum PreviewProspect: Hashable, Sendable {
  /// The picture shows nothing of itself before its end, only its first rows, or nothing more than the
  /// previous preview.
  case none
  /// Too little has arrived to tell, to show the whole picture, or to refine the previous preview.
  case later
  /// What has arrived shows the whole picture, coarsely.
  ///
  /// - byteCount: the first bytes that show it: the complete scans of a progressive JPEG, the first
  ///   frame of a GIF, all of an interlaced PNG.
  case now(byteCount: Int)

  /// Bytes of a PNG up to its interlace method (PNG specification, section 11.2.1).
  private static let interlaceMethodOffset = 28

  /// - Parameters:
  ///   - part: the first bytes of the picture.
  ///   - shownByteCount: those that the previous preview shows; 0 before the first one.
  package init(of part: Span<UInt8>, shownByteCount: Int = 0) {
    let head = unsafe part.extracting(first: FormatSniffer.examinedByteCount)
      .withUnsafeBufferPointer { unsafe Array($0) }
    guard case .picture(let format) = FormatSniffer.sniff(head) else {
      self = part.count < FormatSniffer.examinedByteCount ? .later : .none
      return
    }
    switch format {
    case .jpeg:
      let prospect = JPEGScans(in: part).prospect
      self = prospect == .now(byteCount: shownByteCount) ? .later : prospect
    case .png where part.count <= Self.interlaceMethodOffset: self = .later
    case .png:
      self =
        part[Self.interlaceMethodOffset] == 1 ? .now(byteCount: part.count) : .none
    case .gif:
      let frameEnd = Self.endOfFirstFrame(ofGIF: part) ?? Int.max
      self = shownByteCount >= frameEnd ? .none : .now(byteCount: min(part.count, frameEnd))
    case .webp, .heif, .avif, .tiff, .jxl, .jp2, .svg, .bmp, .ico, .pnm: self = .none
    }
  }

  /// - Returns: `nil` while the frame is not complete.
  private static func endOfFirstFrame(ofGIF part: Span<UInt8>) -> Int? {
    unsafe part.withUnsafeBufferPointer { part in
      guard var blocks = try? GIFBlocks(ByteWindow(unsafe BorrowedBytes(part))) else { return nil }
      while let block = try? blocks.next() {
        if case .frame = block { return try? blocks.endOfFrame() }
      }
      return nil
    }
  }
}
