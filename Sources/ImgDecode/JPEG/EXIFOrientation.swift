/// The orientation in the EXIF metadata of a JPEG (CIPA DC-008, "Orientation"): how the stored
/// pixels are turned and mirrored.
enum EXIFOrientation {
  private static let start = Array("Exif\0\0".utf8)
  private static let tag = 0x0112

  /// - Parameter segment: the data of an application segment, without marker and length.
  /// - Returns: 1…8; `nil` when the segment is no EXIF, or tells none that exists.
  static func value(inSegment segment: UnsafeBufferPointer<UInt8>) -> Int? {
    guard unsafe segment.starts(with: start) else { return nil }
    let file = unsafe UnsafeBufferPointer(rebasing: segment.dropFirst(start.count))
    let directory = TIFFDirectory { offset, byteCount in
      guard offset <= file.count, byteCount <= file.count - offset else { return nil }
      return unsafe Array(file[offset..<offset + byteCount])
    }
    guard let value = directory?.firstValues[tag], (1...8).contains(value) else { return nil }
    return value
  }
}
