import ImgModel

/// The first bytes of a file, in memory that belongs to the caller.
///
/// The memory outlives the value.
@unsafe struct BorrowedBytes: ByteSource {
  private let buffer: UnsafeBufferPointer<UInt8>

  init(_ buffer: UnsafeBufferPointer<UInt8>) {
    unsafe self.buffer = buffer
  }

  /// More may follow.
  var knownByteCount: Int? { nil }

  func bytes(in range: Range<Int>) -> [UInt8]? {
    guard range.lowerBound >= 0, unsafe range.upperBound <= buffer.count else { return nil }
    return unsafe Array(buffer[range])
  }
}

/// The scans of a JPEG whose end has not arrived (ITU-T T.81 annex B).
struct JPEGScans {
  private enum Marker {
    static let progressive = 0xC2
    /// Other frames: sequential, lossless, hierarchical, or with arithmetic coding.
    static let otherFrames: Set = [
      0xC0, 0xC1, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF,
    ]
    static let restarts = 0xD0...0xD7
    static let end = 0xD9
    static let scan = 0xDA
    static let temporary = 0x01
  }

  /// `nil` until the frame header has arrived.
  private var isProgressive: Bool?
  private var isInScan = false
  private var hasEnded = false
  /// Bytes up to the end of the last complete scan. What comes behind it may end within a segment.
  private var completeByteCount = 0

  /// Each complete scan of a progressive JPEG shows the whole picture; any part of another one, its first rows.
  func prospect(of byteCount: Int, includingRows: Bool) -> PreviewProspect {
    guard let isProgressive else { return hasEnded ? .none : .later }
    guard isProgressive else { return includingRows ? .now(byteCount: byteCount) : .none }
    return completeByteCount > 0 ? .now(byteCount: completeByteCount) : .later
  }

  /// - Parameter part: the first bytes of the file.
  init(in part: Span<UInt8>) {
    var offset = 2
    while let marker = Self.marker(in: part, from: &offset) {
      if isInScan {
        isInScan = false
        completeByteCount = offset - 2
      }
      switch marker {
      case Marker.end:
        hasEnded = true
        return
      case Marker.progressive: isProgressive = true
      case Marker.scan: isInScan = true
      case let other where Marker.otherFrames.contains(other):
        isProgressive = false
        return
      default: break
      }
      guard offset + 1 < part.count else { return }
      offset += max(2, Int(part[offset]) << 8 | Int(part[offset + 1]))
    }
  }

  /// Finds the next marker of a segment. Entropy-coded data, in which a byte of zeros follows each 0xFF
  /// (section B.1.1.5), and markers without a segment are skipped.
  ///
  /// - Parameter offset: where the search begins; then, of what follows the marker.
  /// - Returns: `nil` if none has arrived.
  private static func marker(in part: Span<UInt8>, from offset: inout Int) -> Int? {
    while offset + 1 < part.count {
      let code = Int(part[offset + 1])
      guard part[offset] == 0xFF, code != 0, code != 0xFF, code != Marker.temporary,
        !Marker.restarts.contains(code)
      else {
        offset += 1
        continue
      }
      offset += 2
      return code
    }
    return nil
  }
}

/// Whether a picture whose end has not arrived can be shown, judged by what has arrived.
package enum PreviewProspect: Hashable, Sendable {
  /// The picture shows nothing of itself before its end, nothing but its first rows where those are not wanted,
  /// or nothing more than the previous preview.
  case none
  /// Too little has arrived to tell, to show the whole picture, or to refine the previous preview.
  case later
  /// What has arrived shows the whole picture, coarsely, or its first rows.
  ///
  /// - byteCount: the first bytes that show it: the complete scans of a progressive JPEG, the first
  ///   frame of a GIF, all of another JPEG or of an interlaced PNG.
  case now(byteCount: Int)

  /// Bytes of a PNG up to its interlace method (PNG specification, section 11.2.1).
  private static let interlaceMethodOffset = 28

  /// - Parameters:
  ///   - part: the first bytes of the picture.
  ///   - shownByteCount: those that the previous preview shows; 0 before the first one.
  ///   - includingRows: whether the first rows of a JPEG that is not progressive are wanted.
  package init(of part: Span<UInt8>, shownByteCount: Int = 0, includingRows: Bool = false) {
    let head = unsafe part.extracting(first: FormatSniffer.examinedByteCount)
      .withUnsafeBufferPointer { unsafe Array($0) }
    guard case .picture(let format) = FormatSniffer.sniff(head) else {
      self = part.count < FormatSniffer.examinedByteCount ? .later : .none
      return
    }
    switch format {
    case .jpeg:
      let prospect = JPEGScans(in: part).prospect(
        of: part.count, includingRows: includingRows)
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
