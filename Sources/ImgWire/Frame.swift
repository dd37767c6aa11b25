/// A frame: a 4-byte big-endian length and a payload of that many bytes: UTF-8 JSON.
package enum Frame {
  /// The maximum size of a payload. Long lists of URLs need several frames.
  package static let maximumByteCount = 1 << 20

  package static let headerByteCount = 4

  /// Adds the header to a payload.
  ///
  /// - Precondition: `payload` has 1 to ``maximumByteCount`` bytes.
  package static func encode(_ payload: some Collection<UInt8>) -> [UInt8] {
    let count = payload.count
    precondition((1...maximumByteCount).contains(count), "a frame has 1 byte to 1 MiB")
    var bytes: [UInt8] = []
    bytes.reserveCapacity(headerByteCount + count)
    bytes.append(contentsOf: header(byteCount: count))
    bytes.append(contentsOf: payload)
    return bytes
  }

  /// The header of a payload of this size.
  static func header(byteCount: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: byteCount >> $0) }
  }
}

/// The reason why a byte stream is not a stream of frames. The connection closes, because the start of
/// the next frame is unknown.
package enum FrameError: Error, Equatable, CustomStringConvertible {
  case empty
  case tooLong(byteCount: Int)

  package var description: String {
    switch self {
    case .empty:
      "a frame of length 0"
    case .tooLong(let byteCount):
      "a frame of \(byteCount) bytes exceeds the limit of \(Frame.maximumByteCount) bytes"
    }
  }
}

/// Splits a byte stream, which arrives in pieces of any size, into frames.
///
/// It holds at most one incomplete frame and the bytes appended last. After an error, every call
/// throws that error.
package struct FrameDecoder: Sendable {
  private var buffer: [UInt8] = []
  /// The start of the next frame in `buffer`. The bytes before it are consumed.
  private var start = 0
  private var failure: FrameError?

  package init() {}

  /// The memory in use for buffered bytes. The little that is kept for the next ones does not count.
  package var heldByteCount: Int {
    start == buffer.count && buffer.capacity <= Self.keptByteCount ? 0 : buffer.capacity
  }

  /// Whether ``next()`` returns a frame or throws without more bytes.
  package var hasNext: Bool {
    do throws(FrameError) {
      return try nextPayload() != nil
    } catch {
      return true
    }
  }

  /// Whether the buffer ends with an incomplete frame.
  package var isWithinFrame: Bool { start < buffer.count && !hasNext }

  /// Appends the next bytes of the stream.
  package mutating func append(_ bytes: some Collection<UInt8>) {
    if start > 0 {
      // Bytes that are left over are few: less than a frame, or frames that the caller leaves.
      buffer.removeFirst(start)
      start = 0
    }
    buffer.append(contentsOf: bytes)
  }

  /// The payload of the next complete frame; `nil` if it needs more bytes.
  ///
  /// - Throws: ``FrameError`` as soon as an invalid header arrives, before its payload.
  package mutating func next() throws(FrameError) -> ArraySlice<UInt8>? {
    do throws(FrameError) {
      guard let range = try nextPayload() else { return nil }
      let payload = buffer[range]
      start = range.upperBound
      releaseConsumed()
      return payload
    } catch {
      failure = error
      buffer = []
      start = 0
      throw error
    }
  }

  /// The range of the next payload in `buffer`, if the frame is complete.
  private func nextPayload() throws(FrameError) -> Range<Int>? {
    if let failure { throw failure }
    guard buffer.count - start >= Frame.headerByteCount else { return nil }
    let count =
      Int(buffer[start]) << 24 | Int(buffer[start + 1]) << 16 | Int(buffer[start + 2]) << 8
      | Int(buffer[start + 3])
    guard count > 0 else { throw .empty }
    guard count <= Frame.maximumByteCount else { throw .tooLong(byteCount: count) }
    let payloadStart = start + Frame.headerByteCount
    guard buffer.count - payloadStart >= count else { return nil }
    return payloadStart..<(payloadStart + count)
  }

  /// Releases the memory of consumed frames, unless it is little: the next frames can use that. At
  /// most the start of one frame is left then.
  private mutating func releaseConsumed() {
    guard buffer.capacity > Self.keptByteCount, !hasNext else { return }
    buffer = Array(buffer[start...])
    start = 0
  }

  private static let keptByteCount = 16 << 10
}
