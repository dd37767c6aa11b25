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

  /// The memory that is kept for bytes that were not delivered.
  package var heldByteCount: Int { buffer.capacity }

  /// Whether ``next()`` gives a frame, or an error, without more bytes.
  package var hasNext: Bool {
    do throws(FrameError) {
      return try nextPayload() != nil
    } catch {
      return true
    }
  }

  /// Whether a frame has begun and is not complete.
  package var isWithinFrame: Bool { start < buffer.count && !hasNext }

  /// Takes the next bytes of the stream.
  package mutating func append(_ bytes: some Collection<UInt8>) {
    dropDelivered()
    buffer.append(contentsOf: bytes)
  }

  /// The JSON of the next complete frame; `nil` when more bytes are needed.
  ///
  /// - Throws: ``FrameError`` as soon as the header is seen to be wrong, before its bytes arrive.
  package mutating func next() throws(FrameError) -> ArraySlice<UInt8>? {
    do throws(FrameError) {
      guard let range = try nextPayload() else { return nil }
      let payload = buffer[range]
      start = range.upperBound
      // What is left is the beginning of a frame at most: no reason to keep the memory of the rest.
      if !hasNext { dropDelivered() }
      return payload
    } catch {
      failure = error
      buffer = []
      start = 0
      throw error
    }
  }

  /// Where in `buffer` the JSON of the next frame lies, once all of it is there.
  private func nextPayload() throws(FrameError) -> Range<Int>? {
    if let failure { throw failure }
    guard buffer.count - start >= Frame.headerByteCount else { return nil }
    let count = buffer[start..<(start + Frame.headerByteCount)].reduce(0) { $0 << 8 | Int($1) }
    guard count > 0 else { throw .empty }
    guard count <= Frame.maximumByteCount else { throw .tooLong(byteCount: count) }
    let payloadStart = start + Frame.headerByteCount
    guard buffer.count - payloadStart >= count else { return nil }
    return payloadStart..<(payloadStart + count)
  }

  /// Gives back the memory of delivered frames.
  private mutating func dropDelivered() {
    guard start > 0 else { return }
    buffer = Array(buffer[start...])
    start = 0
  }
}
