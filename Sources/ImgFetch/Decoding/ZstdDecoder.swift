internal import CZstd

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
