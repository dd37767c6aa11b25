/// A decoder of a compression library, for one stream of a coding.
protocol StreamDecoder: AnyObject {
  /// Decodes as much of the input as the output has room for.
  ///
  /// - Throws: when the input is no such stream.
  func decode(
    _ input: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>
  ) throws(StreamError) -> DecodingStep

  /// Begins the next stream.
  func restart()
}

/// What one call of a ``StreamDecoder`` did.
struct DecodingStep {
  /// Bytes of the input that need not be given again.
  let consumedByteCount: Int
  let producedByteCount: Int
  /// Whether the stream has ended. What is left of the input does not belong to it.
  let isEnd: Bool
}

/// Why bytes are no stream of a coding, in the library's words.
enum StreamError: Error {
  /// They do not begin like one.
  case foreign(String)
  /// They begin like one.
  case broken(String)
  /// They are one that is not decoded here.
  case unsupported(String)
  case outOfMemory
}

extension ContentCoding {
  /// - Throws: when there is no memory for one.
  func makeDecoder() throws(StreamError) -> any StreamDecoder {
    switch self {
    case .gzip: ZlibDecoder(.gzip)
    case .deflate: ZlibDecoder(.deflate)
    case .brotli: try BrotliDecoder()
    case .zstd: try ZstdDecoder()
    }
  }
}
