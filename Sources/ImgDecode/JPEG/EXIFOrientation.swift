import ImgFacts

/// The orientation in the EXIF metadata of a JPEG (CIPA DC-008, "Orientation"): how the stored
/// pixels are turned and mirrored.
enum EXIFOrientation {
  private static let start = Array("Exif\0\0".utf8)

  /// - Parameter segment: the data of an application segment, without marker and length.
  /// - Returns: 1…8; `nil` when the segment is no EXIF, or tells none that exists.
  static func value(inSegment segment: UnsafeBufferPointer<UInt8>) -> Int? {
    guard unsafe segment.starts(with: start) else { return nil }
    let file = unsafe UnsafeBufferPointer(rebasing: segment.dropFirst(start.count))
    let block = try? EXIFBlock(ByteWindow(unsafe PictureInput(file)))
    return try? block?.orientation()
  }
}
