import CZlib

/// Inflates the beginning of a gzip file (RFC 1952).
package enum GzipHead {
  private static let signature: [UInt8] = [0x1F, 0x8B]

  /// - Parameter head: the file's first bytes.
  /// - Returns: what comes out of them, at most `maximumByteCount` bytes; `nil` when it is no such
  ///   file.
  package static func inflated(_ head: ArraySlice<UInt8>, upTo maximumByteCount: Int) -> [UInt8]? {
    guard head.starts(with: signature) else { return nil }
    return unsafe Inflation.output(of: head, upTo: maximumByteCount) { stream in
      unsafe img_inflate_init_gzip(stream)
    }
  }
}
