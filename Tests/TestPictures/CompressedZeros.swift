import CZlib

/// Zlib data that inflates to zeros, a thousand times as many as it has bytes.
package enum CompressedZeros {
  /// - Parameter count: the number of zeros; at most 4 GB.
  package static func bytes(_ count: Int) -> [UInt8] {
    var stream = unsafe z_stream()
    let size = unsafe CInt(MemoryLayout<z_stream>.size)
    guard unsafe deflateInit_(&stream, Z_BEST_COMPRESSION, ZLIB_VERSION, size) == Z_OK else {
      preconditionFailure("there is no memory for zlib")
    }
    defer { unsafe deflateEnd(&stream) }
    var output = [UInt8](repeating: 0, count: count / 900 + 1_024)
    var zeros = [UInt8](repeating: 0, count: 1 << 20)
    let written = unsafe output.withUnsafeMutableBufferPointer { output in
      unsafe stream.next_out = output.baseAddress
      unsafe stream.avail_out = uInt(output.count)
      unsafe zeros.withUnsafeMutableBufferPointer { zeros in
        var rest = count
        repeat {
          unsafe stream.next_in = zeros.baseAddress
          unsafe stream.avail_in = uInt(min(rest, zeros.count))
          rest -= min(rest, zeros.count)
          unsafe deflate(&stream, rest == 0 ? Z_FINISH : Z_NO_FLUSH)
        } while rest > 0
      }
      return unsafe Int(stream.total_out)
    }
    return Array(output.prefix(written))
  }
}
