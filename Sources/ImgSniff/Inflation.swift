import CZlib

/// Decompresses with zlib.
enum Inflation {
  /// - Parameters:
  ///   - maximumByteCount: of the output, for which that much memory is taken.
  ///   - start: prepares the stream for its kind of header.
  /// - Returns: what comes out before the end or an error; `nil` when zlib has no memory.
  static func output(
    of data: ArraySlice<UInt8>, upTo maximumByteCount: Int,
    start: (UnsafeMutablePointer<z_stream>) -> CInt
  ) -> [UInt8]? {
    var stream = unsafe z_stream()
    guard unsafe start(&stream) == Z_OK else { return nil }
    defer { unsafe inflateEnd(&stream) }
    // zlib only reads the input, yet declares it as not const.
    var input = Array(data)
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
