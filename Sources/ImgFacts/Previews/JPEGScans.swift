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

  /// Each complete scan of a progressive JPEG shows the whole picture.
  var prospect: PreviewProspect {
    guard let isProgressive else { return hasEnded ? .none : .later }
    guard isProgressive else { return .none }
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
