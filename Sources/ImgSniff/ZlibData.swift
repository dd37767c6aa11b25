import CZlib

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
