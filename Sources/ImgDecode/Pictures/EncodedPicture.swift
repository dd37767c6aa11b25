/// An encoded picture, where it lies.
package enum EncodedPicture: Sendable {
  case memory([UInt8])
  /// In a file, for a picture that is too long for memory.
  ///
  /// - descriptor: of the open file, which holds the picture from its start. It stays open, and its
  ///   position unchanged, while the picture is decoded.
  /// - head: the first ``FormatSniffer/examinedByteCount`` bytes, or all.
  case file(descriptor: CInt, head: [UInt8])

  /// At least the first ``FormatSniffer/examinedByteCount`` bytes, or all.
  var head: [UInt8] {
    switch self {
    case .memory(let bytes): bytes
    case .file(_, let head): head
    }
  }
}
