import CZlib

/// Inflates the beginning of a gzip file (RFC 1952).
package enum GzipHead {
  private static let signature: [UInt8] = [0x1F, 0x8B]

  /// - Parameter head: the file's first bytes.
  /// - Returns: what comes out of them, at most `maximumByteCount` bytes; `nil` when it is no such
  ///   file.
  package static func inflated(_ head: ArraySlice<UInt8>, upTo maximumByteCount: Int) -> [UInt8]? {
    guard head.starts(with: signature) else { return nil }
    var stream = unsafe z_stream()
    guard unsafe img_inflate_init_gzip(&stream) == Z_OK else { return nil }
    defer { unsafe inflateEnd(&stream) }
    // zlib only reads the input, yet declares it as not const.
    var input = Array(head)
    return unsafe input.withUnsafeMutableBufferPointer { input in
      unsafe stream.next_in = input.baseAddress
      unsafe stream.avail_in = UInt32(input.count)
      return unsafe [UInt8](unsafeUninitializedCapacity: maximumByteCount) { output, count in
        unsafe stream.next_out = output.baseAddress
        unsafe stream.avail_out = UInt32(maximumByteCount)
        // Whatever it ends with: what came out before counts.
        unsafe inflate(&stream, Z_SYNC_FLUSH)
        count = unsafe maximumByteCount - Int(stream.avail_out)
      }
    }
  }
}
