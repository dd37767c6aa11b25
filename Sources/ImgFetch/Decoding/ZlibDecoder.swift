internal import CZlib

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
