internal import CBrotli

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
