/// EXIF metadata of a JPEG (CIPA DC-008 section 4.6).
package enum EXIFSegment {
  /// - Returns: the JPEG with an orientation, 1…8.
  package static func insert(orientation: Int, into jpeg: [UInt8]) -> [UInt8] {
    insert(
      [0, 1, 0x01, 0x12, 0, 3] + bytes(1) + [0, UInt8(orientation), 0, 0] + bytes(0), into: jpeg)
  }

  /// - Returns: the JPEG with a second directory, which holds the thumbnail, another JPEG.
  package static func insert(thumbnail: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
    // An empty first directory at 8, the second at 14 with two entries.
    let offset = 14 + 2 + 2 * 12 + 4
    let directories: [UInt8] =
      [0, 0] + bytes(14) + [0, 2]
      + [0x02, 0x01, 0, 4] + bytes(1) + bytes(offset)
      + [0x02, 0x02, 0, 4] + bytes(1) + bytes(thumbnail.count) + bytes(0)
    return insert(directories + thumbnail, into: jpeg)
  }

  /// - Parameter directories: those of a big-endian TIFF, from offset 8 on.
  private static func insert(_ directories: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
    let tiff = [0x4D, 0x4D, 0, 42] + bytes(8) + directories
    return JPEGSegments.insert(Array("Exif\0\0".utf8) + tiff, marker: 0xE1, into: jpeg)
  }

  private static func bytes(_ number: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }
}
