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

  /// - Parameters:
  ///   - artist: in ASCII, of more than three characters.
  ///   - copyright: the same.
  /// - Returns: the JPEG with the name of its author, with rights, and with the program that made it.
  package static func insert(artist: String, copyright: String, into jpeg: [UInt8]) -> [UInt8] {
    let tags: [(UInt8, UInt8, String)] = [
      (0x01, 0x31, "Some program"), (0x01, 0x3B, artist), (0x82, 0x98, copyright),
    ]
    var (entries, values): ([UInt8], [UInt8]) = ([0, UInt8(tags.count)], [])
    let start = 8 + 2 + tags.count * 12 + 4
    for (high, low, text) in tags {
      entries +=
        [high, low, 0, 2] + bytes(text.utf8.count + 1) + bytes(start + values.count)
      values += Array(text.utf8) + [0]
    }
    return insert(entries + bytes(0) + values, into: jpeg)
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
