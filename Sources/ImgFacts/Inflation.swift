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

/// Decompresses zlib data (RFC 1950), as PNG chunks hold it.
package enum ZlibData {
  /// - Returns: what comes out up to the first error, at most `maximumByteCount` bytes; `nil` when
  ///   that is nothing.
  package static func inflated(_ data: ArraySlice<UInt8>, upTo maximumByteCount: Int) -> [UInt8]? {
    let inflated = unsafe Inflation.output(of: data, upTo: maximumByteCount) { stream in
      unsafe img_inflate_init_zlib(stream)
    }
    return inflated?.isEmpty == false ? inflated : nil
  }
}

/// The checksum of a PNG chunk (PNG Specification, third edition, section 5.5).
package struct CRC32 {
  package private(set) var value: UInt32 = 0

  package init() {}

  package mutating func add(_ bytes: Span<UInt8>) {
    value = unsafe bytes.withUnsafeBufferPointer { buffer in
      UInt32(truncatingIfNeeded: unsafe crc32_z(UInt(value), buffer.baseAddress, buffer.count))
    }
  }
}
