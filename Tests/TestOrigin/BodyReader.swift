import CMicroHTTPD

/// Hands the body of one answer to its connection in the way its delivery asks.
///
/// Belongs to the thread of its connection, which it may block.
final class BodyReader {
  private let response: Response
  private let exchange: Exchange
  private let connection: Connection
  /// Those of the steps that are to be released.
  private let latches: [Latch]
  private let stopping: Latch

  init(
    response: Response, exchange: Exchange, connection: Connection, latches: [Latch],
    stopping: Latch
  ) {
    self.response = response
    self.exchange = exchange
    self.connection = connection
    self.latches = latches
    self.stopping = stopping
  }

  /// Writes the bytes from `position` on and returns their number, or one of libmicrohttpd's two
  /// codes for an end (microhttpd.h, `MHD_ContentReaderCallback`).
  func read(at position: Int, into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    let step = response.delivery.step(
      at: position, of: response.body.count, room: buffer.count)
    switch step {
    case .send(let byteCount):
      return unsafe copy(byteCount, from: position, to: buffer)
    case .sendAfter(let pause, let byteCount):
      guard waited(for: nil, atMost: pause) else { return MHD_READER_END_WITH_ERROR }
      return unsafe copy(byteCount, from: position, to: buffer)
    case .sendAfterRelease(let byteCount, let step):
      guard waited(for: latches[step], atMost: nil) else { return MHD_READER_END_WITH_ERROR }
      return unsafe copy(byteCount, from: position, to: buffer)
    case .end:
      exchange.land()
      return MHD_READER_END_OF_STREAM
    case .breakOff:
      exchange.land()
      return MHD_READER_END_WITH_ERROR
    case .reset:
      exchange.land()
      connection.reset()
      return MHD_READER_END_WITH_ERROR
    }
  }

  /// Waits as the answer asks before its status line goes out.
  ///
  /// - Returns: False when the client has left.
  func waitedForHeader() -> Bool {
    if response.headerDelay > .zero, !waited(for: nil, atMost: response.headerDelay) {
      return false
    }
    return response.delivery != .hold || waited(for: latches[0], atMost: nil)
  }

  private func waited(for latch: Latch?, atMost duration: Duration?) -> Bool {
    let end = wait(
      for: latch, atMost: duration, socket: connection.descriptor, stopping: stopping)
    if end == .originStopped { exchange.land() }
    return end == .opened || end == .elapsed
  }

  private func copy(
    _ byteCount: Int, from position: Int, to buffer: UnsafeMutableBufferPointer<UInt8>
  ) -> Int {
    if response.delivery == .endless {
      for offset in 0..<byteCount { unsafe buffer[offset] = Self.noise(at: position + offset) }
    } else {
      let range = position..<position + byteCount
      _ = unsafe buffer.update(fromContentsOf: response.body[range])
    }
    exchange.send(byteCount)
    if position + byteCount == response.delivery.knownLength(of: response.body.count) {
      exchange.land()
    }
    return byteCount
  }

  /// A byte that looks random but depends on its position alone (Knuth's multiplicative hash).
  private static func noise(at position: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: (UInt64(position) &* 0x9E37_79B9_7F4A_7C15) >> 56)
  }
}
