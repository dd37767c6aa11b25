/// A frame: a 4-byte big-endian length and a payload of that many bytes: UTF-8 JSON, or a
/// ``NumberRecord``.
package enum Frame {
  /// The maximum size of a payload. Long lists of URLs need several frames.
  package static let maximumByteCount = 1 << 20

  package static let headerByteCount = 4

  /// Adds the header to a payload.
  ///
  /// - Precondition: `payload` has 1 to ``maximumByteCount`` bytes.
  package static func encode(_ payload: some Collection<UInt8>) -> [UInt8] {
    let count = payload.count
    precondition((1...maximumByteCount).contains(count), "a frame has 1 byte to 1 MiB")
    var bytes: [UInt8] = []
    bytes.reserveCapacity(headerByteCount + count)
    bytes.append(contentsOf: header(byteCount: count))
    bytes.append(contentsOf: payload)
    return bytes
  }

  /// The header of a payload of this size.
  static func header(byteCount: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: byteCount >> $0) }
  }
}

/// The reason why a byte stream is not a stream of frames. The connection closes, because the start of
/// the next frame is unknown.
package enum FrameError: Error, Equatable, CustomStringConvertible {
  case empty
  case tooLong(byteCount: Int)

  package var description: String {
    switch self {
    case .empty:
      "a frame of length 0"
    case .tooLong(let byteCount):
      "a frame of \(byteCount) bytes exceeds the limit of \(Frame.maximumByteCount) bytes"
    }
  }
}
