/// The unit of the wire: a 4-byte big-endian length and that many bytes of UTF-8 JSON.
package enum Frame {
  /// The most bytes a frame's JSON may have. Lists of URLs travel in several frames.
  package static let maximumByteCount = 1 << 20

  package static let headerByteCount = 4

  /// Puts the header in front of `payload`.
  ///
  /// - Precondition: `payload` is not empty and not above ``maximumByteCount``: whoever builds
  ///   messages keeps them within it.
  package static func encode(_ payload: some Collection<UInt8>) -> [UInt8] {
    let count = payload.count
    precondition((1...maximumByteCount).contains(count), "a frame has 1 byte to 1 MiB")
    var bytes: [UInt8] = []
    bytes.reserveCapacity(headerByteCount + count)
    for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
    bytes.append(contentsOf: payload)
    return bytes
  }
}

/// Why a stream of bytes is no stream of frames. There is no way to find the next frame after such
/// an error, so the connection ends with it.
package enum FrameError: Error, Equatable, CustomStringConvertible {
  case empty
  case tooLong(byteCount: Int)

  package var description: String {
    switch self {
    case .empty:
      "a frame of length 0"
    case .tooLong(let byteCount):
      "a frame of \(byteCount) bytes; \(Frame.maximumByteCount) are the most"
    }
  }
}

/// Cuts a stream of bytes, arriving in pieces of any size, into frames.
///
/// Holds at most one incomplete frame plus what was appended last. After an error every further
/// call throws the same error.
package struct FrameDecoder: Sendable {
  private var buffer: [UInt8] = []
  /// Where in `buffer` the next frame begins; what lies before it was delivered.
  private var start = 0
  private var failure: FrameError?

  package init() {}

  /// Takes the next bytes of the stream.
  package mutating func append(_ bytes: some Collection<UInt8>) {
    if start > 0, start == buffer.count || start > Frame.maximumByteCount {
      buffer.removeFirst(start)
      start = 0
    }
    buffer.append(contentsOf: bytes)
  }

  /// The JSON of the next complete frame; `nil` when more bytes are needed.
  ///
  /// - Throws: ``FrameError`` as soon as the header is seen to be wrong, before its bytes arrive.
  package mutating func next() throws(FrameError) -> ArraySlice<UInt8>? {
    if let failure { throw failure }
    guard buffer.count - start >= Frame.headerByteCount else { return nil }
    let count = buffer[start..<(start + Frame.headerByteCount)].reduce(0) { $0 << 8 | Int($1) }
    guard count > 0 else { throw fail(.empty) }
    guard count <= Frame.maximumByteCount else { throw fail(.tooLong(byteCount: count)) }
    let payloadStart = start + Frame.headerByteCount
    guard buffer.count - payloadStart >= count else { return nil }
    start = payloadStart + count
    return buffer[payloadStart..<start]
  }

  private mutating func fail(_ error: FrameError) -> FrameError {
    failure = error
    buffer = []
    start = 0
    return error
  }
}
