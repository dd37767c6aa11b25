internal import CBrotli
internal import CZlib
internal import CZstd

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

/// Decodes `gzip` (RFC 1952) and `deflate` with zlib, which takes about 40 KiB.
///
/// `deflate` is the format of zlib (RFC 1950). Some origins send the bare data instead (RFC 1951), as
/// browsers know (RFC 9110 section 8.4.1.2). The first byte tells which.
@safe
final class ZlibDecoder: StreamDecoder {
  enum Format {
    case gzip, deflate
  }

  private let format: Format
  /// zlib keeps its address.
  private let stream: UnsafeMutablePointer<z_stream>
  private var hasBegun = false

  init(_ format: Format) {
    self.format = format
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
  }

  deinit {
    if hasBegun { unsafe inflateEnd(stream) }
    unsafe stream.deallocate()
  }

  func decode(
    _ input: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>
  ) throws(StreamError) -> DecodingStep {
    if let first = unsafe input.first { try begin(first) }
    // zlib only reads the input, yet declares it as not const.
    unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
    unsafe stream.pointee.avail_in = UInt32(input.count)
    unsafe stream.pointee.next_out = output.baseAddress
    unsafe stream.pointee.avail_out = UInt32(output.count)
    let code = unsafe inflate(stream, Z_NO_FLUSH)
    switch code {
    // A buffer error is what a call without input ends with.
    case Z_OK, Z_STREAM_END, Z_BUF_ERROR: break
    case Z_MEM_ERROR: throw .outOfMemory
    // What came out before an error is taken; the next call ends with the error again.
    case _ where unsafe Int(stream.pointee.avail_out) < output.count: break
    default:
      let words = unsafe stream.pointee.msg.map { unsafe String(cString: $0) }
      let reason = words ?? "it needs a dictionary"
      throw unsafe stream.pointee.total_out == 0 ? .foreign(reason) : .broken(reason)
    }
    return DecodingStep(
      consumedByteCount: unsafe input.count - Int(stream.pointee.avail_in),
      producedByteCount: unsafe output.count - Int(stream.pointee.avail_out),
      isEnd: code == Z_STREAM_END)
  }

  func restart() {
    unsafe inflateReset(stream)
  }

  /// - Parameter first: the first byte of the stream.
  private func begin(_ first: UInt8) throws(StreamError) {
    guard !hasBegun else { return }
    // RFC 1950 section 2.2: method 8, and a window of at most 32 KiB.
    let hasZlibHead = first & 0x8F == 0x08
    let code =
      switch format {
      case .gzip: unsafe img_inflate_init_gzip(stream)
      case .deflate where hasZlibHead: unsafe img_inflate_init_zlib(stream)
      case .deflate: unsafe img_inflate_init_raw(stream)
      }
    guard code == Z_OK else { throw .outOfMemory }
    hasBegun = true
  }
}

/// Decodes `br` (RFC 7932) with brotli, which takes a window of at most 16 MiB. It touches no more
/// of the window than it has decoded.
@safe
final class BrotliDecoder: StreamDecoder {
  private let state: OpaquePointer
  private var hasOutput = false

  init() throws(StreamError) {
    guard let state = unsafe BrotliDecoderCreateInstance(nil, nil, nil) else { throw .outOfMemory }
    unsafe self.state = state
  }

  deinit {
    unsafe BrotliDecoderDestroyInstance(state)
  }

  func decode(
    _ input: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>
  ) throws(StreamError) -> DecodingStep {
    var inputCount = input.count
    var inputStart = input.baseAddress
    var outputCount = output.count
    var outputStart = output.baseAddress
    let result = unsafe BrotliDecoderDecompressStream(
      state, &inputCount, &inputStart, &outputCount, &outputStart, nil)
    guard result != BROTLI_DECODER_RESULT_ERROR else {
      let words = unsafe String(
        cString: BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state)))
      throw hasOutput ? .broken(words) : .foreign(words)
    }
    if outputCount < output.count { hasOutput = true }
    return DecodingStep(
      consumedByteCount: input.count - inputCount, producedByteCount: output.count - outputCount,
      isEnd: result == BROTLI_DECODER_RESULT_SUCCESS)
  }

  /// A body has one stream.
  func restart() {}
}

/// Decodes `zstd` (RFC 8878) with Zstandard.
@safe
final class ZstdDecoder: StreamDecoder {
  /// The largest window of a body that is sent over HTTP is 8 MiB (RFC 9659 section 3). The library would
  /// take 128 MiB.
  private static let maximumWindowLog: CInt = 23

  private let context: OpaquePointer

  init() throws(StreamError) {
    guard let context = unsafe ZSTD_createDCtx() else { throw .outOfMemory }
    unsafe self.context = context
    let code = unsafe ZSTD_DCtx_setParameter(
      context, ZSTD_d_windowLogMax, Self.maximumWindowLog)
    precondition(ZSTD_isError(code) == 0, "8 MiB is a valid limit")
  }

  deinit {
    unsafe ZSTD_freeDCtx(context)
  }

  func decode(
    _ input: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>
  ) throws(StreamError) -> DecodingStep {
    var source = unsafe ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
    var target = unsafe ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
    let code = unsafe ZSTD_decompressStream(context, &target, &source)
    guard ZSTD_isError(code) == 0 else {
      throw Self.error(code)
    }
    return DecodingStep(
      consumedByteCount: unsafe source.pos, producedByteCount: unsafe target.pos, isEnd: code == 0)
  }

  private static func error(_ code: Int) -> StreamError {
    let words = unsafe String(cString: ZSTD_getErrorName(code))
    return switch ZSTD_getErrorCode(code) {
    case ZSTD_error_prefix_unknown: .foreign(words)
    case ZSTD_error_memory_allocation: .outOfMemory
    // A window above the limit, a dictionary, and what only another release knows.
    case ZSTD_error_frameParameter_windowTooLarge, ZSTD_error_dictionary_wrong,
      ZSTD_error_frameParameter_unsupported, ZSTD_error_version_unsupported:
      .unsupported(words)
    default: .broken(words)
    }
  }

  func restart() {
    unsafe ZSTD_DCtx_reset(context, ZSTD_reset_session_only)
  }
}
