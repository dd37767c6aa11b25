/// The segments of a JPEG (ITU-T T.81 annex B).
package enum JPEGSegments {
  /// - Returns: the JPEG with one more segment, directly behind its first marker.
  package static func insert(_ data: [UInt8], marker: UInt8, into jpeg: [UInt8]) -> [UInt8] {
    let byteCount = data.count + 2
    precondition(byteCount <= 0xFFFF, "a segment has at most 65,535 bytes")
    let head = [0xFF, marker, UInt8(byteCount >> 8), UInt8(byteCount & 0xFF)]
    return Array(jpeg.prefix(2)) + head + data + jpeg.dropFirst(2)
  }
}
