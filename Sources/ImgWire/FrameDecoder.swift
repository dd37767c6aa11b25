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

  /// The memory in use for buffered bytes.
  package var heldByteCount: Int { buffer.capacity }

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
    dropConsumed()
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
      // At most the start of one frame is left, so the memory of the others can be released.
      if !hasNext { dropConsumed() }
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
    let count = buffer[start..<(start + Frame.headerByteCount)].reduce(0) { $0 << 8 | Int($1) }
    guard count > 0 else { throw .empty }
    guard count <= Frame.maximumByteCount else { throw .tooLong(byteCount: count) }
    let payloadStart = start + Frame.headerByteCount
    guard buffer.count - payloadStart >= count else { return nil }
    return payloadStart..<(payloadStart + count)
  }

  /// Releases the memory of consumed frames.
  private mutating func dropConsumed() {
    guard start > 0 else { return }
    buffer = Array(buffer[start...])
    start = 0
  }
}
