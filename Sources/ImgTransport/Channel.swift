package import ImgSystem
package import ImgWire

/// One connection over which typed messages go both ways: frames, a bounded queue of what the peer
/// has not read, and no more memory than that whatever the peer does.
///
/// The socket is non-blocking. A loop calls ``receive()`` when it is readable and ``flush()`` when
/// it is writable; who has nothing else to do uses the waiting calls. After an error the connection
/// is of no further use. Belongs to one thread.
package final class Channel<Incoming: WireMessage, Outgoing: WireMessage> {
  /// What one call of ``receive()`` found.
  package struct Received {
    package var messages: [Incoming] = []
    /// The peer has closed its end: nothing follows these messages.
    package var isClosed = false
    /// Nothing more lies in the socket at this moment.
    package var isExhausted = false
  }

  private let socket: OwnedDescriptor
  private var decoder = FrameDecoder()
  private var arrived: [Incoming] = []
  private var unsent: [UInt8] = []
  /// Index in `unsent` of the first byte that the kernel has not taken.
  private var unsentStart = 0
  private var isPeerClosed = false

  /// A peer that has left so many bytes unread is closed rather than buffered for: a few of the
  /// largest frames.
  package static var unsentMaximumByteCount: Int { 8 * Frame.maximumByteCount }

  private static var readByteCount: Int { 256 << 10 }

  /// - Parameter socket: a connected stream socket.
  package init(_ socket: consuming OwnedDescriptor) throws(SystemError) {
    self.socket = socket
    try UnixSocket.setNonBlocking(self.socket.rawValue, true)
  }

  package var descriptor: CInt { socket.rawValue }

  /// Whether bytes wait for the socket to become writable.
  package var hasUnsent: Bool { unsentStart < unsent.count }

  // MARK: - For a loop

  /// Reads what is there, up to 256 KiB, without waiting.
  package func receive() throws(ChannelError) -> Received {
    var received = Received()
    try fill(&received)
    while let payload = try nextPayload() {
      do throws(MessageError) {
        received.messages.append(try WireCoding.message(Incoming.self, from: payload))
      } catch {
        throw .message(error)
      }
    }
    return received
  }

  /// Queues a message and hands the kernel what it takes.
  package func send(_ message: Outgoing) throws(ChannelError) {
    let frame: [UInt8]
    do throws(MessageError) {
      frame = try WireCoding.frame(message)
    } catch {
      throw .message(error)
    }
    if unsentStart == unsent.count {
      unsent = frame
      unsentStart = 0
    } else {
      unsent.append(contentsOf: frame)
    }
    try flush()
    guard unsent.count - unsentStart <= Self.unsentMaximumByteCount else {
      throw .peerDoesNotRead
    }
  }

  /// Hands the kernel what it takes of the queued bytes.
  package func flush() throws(ChannelError) {
    do throws(SystemError) {
      while hasUnsent {
        guard let count = try UnixSocket.send(socket.rawValue, unsent[unsentStart...]) else {
          return compact()
        }
        unsentStart += count
      }
      compact()
    } catch {
      throw .system(error)
    }
  }

  // MARK: - For one who waits

  /// The next message.
  ///
  /// - Parameter deadline: `nil` waits for ever.
  /// - Throws: `timedOut` at the deadline, `closed` when the peer has closed.
  package func next(until deadline: ContinuousClock.Instant?) throws(ChannelError) -> Incoming {
    while arrived.isEmpty {
      guard !isPeerClosed else { throw .closed }
      try wait { () throws(SystemError) in
        try UnixSocket.waitReadable(socket.rawValue, until: deadline)
      }
      let received = try receive()
      arrived = received.messages
      isPeerClosed = received.isClosed
    }
    return arrived.removeFirst()
  }

  /// Waits until the kernel has taken everything.
  package func flush(until deadline: ContinuousClock.Instant?) throws(ChannelError) {
    try flush()
    while hasUnsent {
      try wait { () throws(SystemError) in
        try UnixSocket.waitWritable(socket.rawValue, until: deadline)
      }
      try flush()
    }
  }

  // MARK: - Helpers

  /// Reads once.
  private func fill(_ received: inout Received) throws(ChannelError) {
    var bytes: [UInt8] = []
    do throws(SystemError) {
      switch try UnixSocket.receive(socket.rawValue, into: &bytes, upTo: Self.readByteCount) {
      case .received: decoder.append(bytes)
      case .wouldBlock:
        received.isExhausted = true
      case .closed:
        received.isExhausted = true
        received.isClosed = true
      }
    } catch {
      throw .system(error)
    }
  }

  private func nextPayload() throws(ChannelError) -> ArraySlice<UInt8>? {
    do throws(FrameError) {
      return try decoder.next()
    } catch {
      throw .framing(error)
    }
  }

  private func compact() {
    guard unsentStart > 0, unsentStart == unsent.count || unsentStart > 1 << 20 else { return }
    unsent.removeFirst(unsentStart)
    unsentStart = 0
  }

  private func wait(_ isReady: () throws(SystemError) -> Bool) throws(ChannelError) {
    let wasInTime: Bool
    do throws(SystemError) {
      wasInTime = try isReady()
    } catch {
      throw .system(error)
    }
    guard wasInTime else { throw .timedOut }
  }
}

/// Why a connection ends.
package enum ChannelError: Error, CustomStringConvertible {
  /// The peer closed its end.
  case closed
  case timedOut
  /// Not a stream of frames.
  case framing(FrameError)
  /// A frame that is no message.
  case message(MessageError)
  /// The peer leaves unread what it is sent.
  case peerDoesNotRead
  case system(SystemError)

  package var description: String {
    switch self {
    case .closed: "the other end closed the connection"
    case .timedOut: "no answer in time"
    case .framing(let error): String(describing: error)
    case .message(let error): error.description
    case .peerDoesNotRead: "the other end does not read what it is sent"
    case .system(let error): error.description
    }
  }
}
