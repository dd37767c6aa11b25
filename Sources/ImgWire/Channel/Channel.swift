import Glibc
package import ImgSystem

/// One connection over which typed messages go both ways, some with a file beside them. What the peer
/// has not read waits in a bounded queue, so a peer cannot take more memory or open files than that.
///
/// The socket is non-blocking. A loop calls ``receive()`` when it is readable and ``flush()`` when
/// it is writable; a loop that serves many peers in turn calls ``read(upTo:)`` and ``takeMessage()``
/// instead of ``receive()``. A caller with nothing else to do uses the waiting calls. After an error
/// the caller closes the connection. Belongs to one thread.
package final class Channel<Incoming: WireMessage, Outgoing: WireMessage> {
  /// What one call of ``receive()`` found.
  package struct Received {
    package var deliveries: [Delivery<Incoming>] = []
    /// The peer has closed its end: nothing follows these messages.
    package var isClosed = false
    /// Nothing more lies in the socket at this moment.
    package var isExhausted = false
  }

  /// What one call of ``read(upTo:)`` found.
  package enum ReadResult: Hashable {
    case bytes
    /// None are there at this moment.
    case nothing
    /// The peer has closed its end, and all that it sent before has been read.
    case closed
  }

  private let socket: OwnedDescriptor
  private var inbox = Inbox<Incoming>()
  private var outbox = Outbox()
  private var coder = WireCoder()
  private var arrived: [Delivery<Incoming>] = []
  private var isPeerClosed = false

  /// A peer that leaves more bytes unread is closed: a few of the largest frames.
  package static var unsentMaximumByteCount: Int { 8 * Frame.maximumByteCount }
  /// A peer for which more files wait, beside those that the kernel has taken, is closed as well. Each
  /// keeps a descriptor and its memory.
  package static var unsentMaximumFileCount: Int { 64 }

  private static var readByteCount: Int { 256 << 10 }
  /// Posted messages of more bytes are handed to the kernel at once.
  private static var postedMaximumByteCount: Int { 64 << 10 }

  /// - Parameter socket: a connected stream socket.
  package init(_ socket: consuming OwnedDescriptor) throws(SystemError) {
    self.socket = socket
    try UnixSocket.setNonBlocking(self.socket.rawValue, true)
  }

  package var descriptor: CInt { socket.rawValue }

  /// Whether bytes wait for the socket to become writable.
  package var hasUnsent: Bool { !outbox.isEmpty }

  /// The memory of messages that are not sent or not completely received, or that ``takeMessage()``
  /// has not delivered.
  package var heldByteCount: Int { inbox.heldByteCount + outbox.heldByteCount }

  /// Whether one more message with a file may be sent before the peer has read some.
  package var takesFile: Bool { outbox.fileCount < Self.unsentMaximumFileCount }

  // MARK: - For a loop

  /// Reads what is there, up to 256 KiB, without waiting.
  package func receive() throws(ChannelError) -> Received {
    let result = try read(upTo: Self.readByteCount)
    var received = Received(isClosed: result == .closed, isExhausted: result != .bytes)
    while let delivery = try takeMessage() { received.deliveries.append(delivery) }
    return received
  }

  /// Reads once, without waiting. The messages stay undecoded until ``takeMessage()``.
  package func read(upTo byteCount: Int) throws(ChannelError) -> ReadResult {
    var bytes: [UInt8] = []
    var passed: OwnedDescriptor?
    do throws(SystemError) {
      switch try UnixSocket.receive(
        socket.rawValue, into: &bytes, upTo: byteCount, passed: &passed)
      {
      case .received:
        inbox.append(bytes, Self.file(of: passed.take()))
        return .bytes
      case .wouldBlock: return .nothing
      case .closed: return .closed
      }
    } catch {
      throw error.code == EPROTO ? .passedFile(.several) : .system(error)
    }
  }

  /// Whether ``takeMessage()`` gives a message, or an error, without another read.
  package var hasMessage: Bool { inbox.hasNext }

  /// Whether the peer has sent a part of a message and owes the rest.
  package var isWithinMessage: Bool { inbox.isWithinMessage }

  /// The next message of those that have been read; `nil` when there is none.
  package func takeMessage() throws(ChannelError) -> Delivery<Incoming>? {
    try inbox.next()
  }

  /// Queues a message and hands the kernel what it takes.
  ///
  /// - Parameter file: goes beside the message, which announces it.
  package func send(
    _ message: Outgoing, with file: PassedFile? = nil
  ) throws(ChannelError) {
    try queue(message, file)
    try flush()
    try requireReadingPeer()
  }

  /// Queues a message. The caller calls ``flush()`` soon, before it waits. One system call then takes
  /// all messages, and wakes the peer once.
  ///
  /// - Parameter file: goes beside the message, which announces it.
  package func post(
    _ message: Outgoing, with file: PassedFile? = nil
  ) throws(ChannelError) {
    try queue(message, file)
    guard
      outbox.byteCount > Self.postedMaximumByteCount
        || outbox.fileCount > Self.unsentMaximumFileCount
    else { return }
    try flush()
    try requireReadingPeer()
  }

  private func queue(_ message: Outgoing, _ file: PassedFile?) throws(ChannelError) {
    precondition(
      message.announcesFile == (file != nil), "a message comes with the file that it announces")
    do throws(MessageError) {
      outbox.append(try coder.frame(message), file)
    } catch {
      throw .message(error)
    }
  }

  private func requireReadingPeer() throws(ChannelError) {
    guard outbox.byteCount <= Self.unsentMaximumByteCount,
      outbox.fileCount <= Self.unsentMaximumFileCount
    else { throw .peerDoesNotRead }
  }

  /// Hands the kernel what it takes of the queued bytes.
  package func flush() throws(ChannelError) {
    defer { outbox.compact() }
    do throws(SystemError) {
      while hasUnsent {
        let (bytes, file) = outbox.next
        guard
          let count = try UnixSocket.send(socket.rawValue, bytes, passing: file?.descriptor)
        else { return }
        outbox.wasSent(count)
      }
    } catch {
      throw .system(error)
    }
  }

  // MARK: - For a caller that waits

  /// The next message; a file that came with it is dropped.
  ///
  /// - Parameter deadline: `nil` waits for ever.
  /// - Throws: `timedOut` at the deadline, `closed` when the peer has closed.
  package func next(until deadline: ContinuousClock.Instant?) throws(ChannelError) -> Incoming {
    try nextDelivery(until: deadline).message
  }

  /// The next message and its file, see ``next(until:)``.
  package func nextDelivery(
    until deadline: ContinuousClock.Instant?
  ) throws(ChannelError) -> Delivery<Incoming> {
    while arrived.isEmpty {
      guard !isPeerClosed else { throw .closed }
      try wait { () throws(SystemError) in
        try UnixSocket.waitReadable(socket.rawValue, until: deadline)
      }
      let received = try receive()
      arrived = received.deliveries
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

  private static func file(of passed: consuming OwnedDescriptor?) -> PassedFile? {
    guard let descriptor = passed else { return nil }
    return PassedFile(adopting: descriptor)
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
  /// A file that does not go with its message.
  case passedFile(PassedFileError)
  /// The peer leaves unread what it is sent.
  case peerDoesNotRead
  case system(SystemError)

  /// Whether it only says that the peer has closed its end, as a peer that exits does.
  package var isClosedEnd: Bool {
    switch self {
    case .closed: true
    case .system(let error): error.code == EPIPE || error.code == ECONNRESET
    case .timedOut, .framing, .message, .passedFile, .peerDoesNotRead: false
    }
  }

  package var description: String {
    switch self {
    case .closed: "the other end closed the connection"
    case .timedOut: "no answer in time"
    case .framing(let error): String(describing: error)
    case .message(let error): error.description
    case .passedFile(let error): error.description
    case .peerDoesNotRead: "the other end does not read what it is sent"
    case .system(let error): error.description
    }
  }
}

/// Turns bytes into messages, and finds for each file the frame that it came with.
///
/// A sender hands the kernel a file together with the first bytes of its frame and with nothing
/// behind that frame. A stream socket keeps such a piece apart from what was sent after it, but not
/// from what was sent before (unix(7) ties descriptors to bytes; `unix_stream_read_generic` in Linux
/// stops after the piece). So the file is that of the last frame that begins in the bytes it came
/// with, and between two reads at most one file waits for the rest of its frame.
struct Inbox<Message: WireMessage> {
  private var decoder = FrameDecoder()
  private var coder = WireCoder()
  /// Where in the stream the next frame begins, and where what has arrived ends.
  private var frameStart = 0
  private var end = 0
  /// Files whose frames are not complete, with the places of the bytes they came with.
  private var waiting: [(file: PassedFile, arrival: Range<Int>)] = []

  var heldByteCount: Int { decoder.heldByteCount }

  /// Whether ``next()`` gives a message, or an error, without more bytes.
  var hasNext: Bool { decoder.hasNext || !areFilesInPlace }

  /// Whether a message has begun and is not complete.
  var isWithinMessage: Bool { decoder.isWithinFrame }

  /// Takes what one read has brought.
  mutating func append(_ bytes: [UInt8], _ file: PassedFile?) {
    decoder.append(bytes)
    if let file { waiting.append((file, end..<(end + bytes.count))) }
    end += bytes.count
  }

  /// The next message; `nil` when more bytes are needed.
  mutating func next() throws(ChannelError) -> Delivery<Message>? {
    guard let payload = try nextPayload() else {
      guard areFilesInPlace else { throw .passedFile(.misplaced) }
      return nil
    }
    let frame = frameStart..<(frameStart + Frame.headerByteCount + payload.count)
    frameStart = frame.upperBound
    let file = try takeFile(of: frame)
    let message = try message(from: payload)
    guard message.announcesFile == (file != nil) else {
      throw .passedFile(file == nil ? .missing : .unannounced)
    }
    return Delivery(message: message, file: file)
  }

  /// Whether each file came with the first bytes of the frame that is not complete.
  private var areFilesInPlace: Bool {
    waiting.allSatisfy { $0.arrival.contains(frameStart) }
  }

  /// The file that came with a frame, all of whose bytes are there.
  private mutating func takeFile(of frame: Range<Int>) throws(ChannelError) -> PassedFile? {
    guard let (file, arrival) = waiting.first, frame.upperBound >= arrival.upperBound else {
      return nil
    }
    guard arrival.contains(frame.lowerBound) else { throw .passedFile(.misplaced) }
    waiting.removeFirst()
    return file
  }

  private mutating func nextPayload() throws(ChannelError) -> ArraySlice<UInt8>? {
    do throws(FrameError) {
      return try decoder.next()
    } catch {
      throw .framing(error)
    }
  }

  private mutating func message(
    from payload: ArraySlice<UInt8>
  ) throws(ChannelError) -> Message {
    do throws(MessageError) {
      return try coder.message(Message.self, from: payload)
    } catch {
      throw .message(error)
    }
  }
}

/// Frames that the kernel has not taken, and the files that go with them.
struct Outbox {
  private var bytes: [UInt8] = []
  /// Index in `bytes` of the first byte that was not sent.
  private var start = 0
  /// The frames in `bytes` whose files were not sent, in their order.
  private var files: [(frame: Range<Int>, file: PassedFile)] = []

  private static let keptByteCount = 16 << 10

  var byteCount: Int { bytes.count - start }
  var fileCount: Int { files.count }
  var isEmpty: Bool { byteCount == 0 }
  /// The memory of the frames. The little that is kept for the next ones does not count.
  var heldByteCount: Int {
    isEmpty && bytes.capacity <= Self.keptByteCount ? 0 : bytes.capacity
  }

  mutating func append(_ frame: ArraySlice<UInt8>, _ file: PassedFile?) {
    bytes.append(contentsOf: frame)
    if let file { files.append(((bytes.count - frame.count)..<bytes.count, file)) }
  }

  /// What one call may send: a frame that has a file goes with it and by itself, so that the
  /// receiver can tell whose the file is, see ``Inbox``.
  var next: (bytes: ArraySlice<UInt8>, file: PassedFile?) {
    guard let (frame, file) = files.first else { return (bytes[start...], nil) }
    return frame.lowerBound == start ? (bytes[frame], file) : (bytes[start..<frame.lowerBound], nil)
  }

  /// The kernel has taken so many bytes of ``next``, and with the first of them the file.
  mutating func wasSent(_ count: Int) {
    if count > 0, files.first?.frame.lowerBound == start { files.removeFirst() }
    start += count
  }

  /// Gives back the memory of what was sent, once that is all or much. A little is kept for the next
  /// frames.
  mutating func compact() {
    guard start > 0, isEmpty || start > 1 << 20 else { return }
    if bytes.capacity > Self.keptByteCount {
      bytes = Array(bytes[start...])
    } else {
      bytes.removeFirst(start)
    }
    files = files.map { (($0.frame.lowerBound - start)..<($0.frame.upperBound - start), $0.file) }
    start = 0
  }
}

/// A message as it arrived, with the file that travelled beside it; `file` is there exactly when the
/// message announces one, see `WireMessage.announcesFile`. The file closes with its last owner.
package struct Delivery<Message: Sendable>: Sendable {
  package let message: Message
  package let file: PassedFile?

  /// The file of a message that announces one.
  package var announcedFile: PassedFile {
    guard let file else { preconditionFailure("a channel delivers each file that is announced") }
    return file
  }
}

/// Why a file does not belong to its message. It ends the connection, because later files and messages
/// cannot be matched either.
package enum PassedFileError: Error, Hashable, CustomStringConvertible {
  /// A message announces a file that did not come.
  case missing
  /// A file came beside a message that announces none.
  case unannounced
  /// A file came with bytes in the middle of a frame.
  case misplaced
  /// More than one file came at once.
  case several

  package var description: String {
    switch self {
    case .missing: "a message without the file that it announces"
    case .unannounced: "a file beside a message that announces none"
    case .misplaced: "a file in the middle of a frame"
    case .several: "several files at once"
    }
  }
}

/// How a coordinator tells the process that started it in the background that it listens, or why it
/// cannot: one text on a connection that it inherits and then closes.
package enum ReadinessMessage {
  /// The descriptor of the connection.
  package static let descriptor: CInt = 3
  /// The environment variable that names the descriptor. Without it no process waits.
  package static let variable = "IMGCTL_READY_DESCRIPTOR"
  /// The text of a coordinator that listens. Any other text is the reason why it does not.
  package static let ready = "ready"
  /// How the reason begins when another coordinator owns the data directory or the socket.
  package static let taken = "another coordinator"
}

/// The descriptor numbers under which a worker finds what its coordinator passes on.
package enum WorkerDescriptor {
  /// The connection to the coordinator.
  package static let channel: CInt = 3
  /// The shared page, see ``WorkerHeartbeat``.
  package static let heartbeat: CInt = 4
  /// What passes the limits of bandwidth, see `SharedBandwidth`.
  package static let bandwidth: CInt = 5
  /// The limits of bandwidth, which a worker may only read.
  package static let bandwidthRates: CInt = 6
}

/// The descriptor number under which a decoder finds what its coordinator passes on.
package enum DecoderDescriptor {
  /// The connection to its worker.
  package static let channel: CInt = 3
}
