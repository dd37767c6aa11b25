import Glibc
@_spi(Coding) import ImgModel
import ImgSystem
import ImgWire
import Testing

@Suite(.timeLimit(.minutes(20))) struct ChannelTests {
  private typealias CoordinatorEnd = Channel<WorkerMessage, CoordinatorMessage>
  private typealias WorkerEnd = Channel<CoordinatorMessage, WorkerMessage>

  private func channels() throws -> (CoordinatorEnd, WorkerEnd) {
    var pair = try UnixSocket.pair()
    return (try Channel(pair.takeFirst()), try Channel(pair.takeSecond()))
  }

  private var soon: ContinuousClock.Instant { .now + .seconds(60) }

  @Test func `what one end sends the other receives, in order`() throws {
    let (coordinator, worker) = try channels()
    for number in 1...100 {
      try coordinator.send(.cancel([LeaseID(rawValue: UInt64(number))]))
    }
    for number in 1...100 {
      let message = try worker.next(until: soon)
      #expect(message == .cancel([LeaseID(rawValue: UInt64(number))]))
    }
  }

  @Test func `posted messages go together with the next flush`() throws {
    let (coordinator, worker) = try channels()
    try coordinator.post(.drain)
    try coordinator.post(.cancel([LeaseID(rawValue: 1)]))
    #expect(coordinator.hasUnsent)
    #expect(try worker.read(upTo: 1_000) == .nothing)
    try coordinator.flush()
    #expect(!coordinator.hasUnsent)
    #expect(try worker.receive().deliveries.count == 2)
  }

  @Test func `a peer that does not read is given up, not buffered for`() throws {
    let (coordinator, worker) = try channels()
    let leases = (0..<50_000).map { LeaseID(rawValue: $0) }
    let isGivenUp = { (error: any Error) in
      if case ChannelError.peerDoesNotRead = error { true } else { false }
    }
    #expect(
      performing: { for _ in 0..<1_000 { try coordinator.post(.cancel(leases)) } },
      throws: isGivenUp)
    #expect(performing: { try coordinator.send(.cancel(leases)) }, throws: isGivenUp)
    #expect(try worker.read(upTo: 10) == .bytes)
  }

  @Test func `what has been read waits until it is taken, one message at a time`() throws {
    let (coordinator, worker) = try channels()
    #expect(try worker.read(upTo: 1_000) == .nothing)
    try coordinator.send(.drain)
    try coordinator.send(.cancel([LeaseID(rawValue: 1)]))
    while try worker.read(upTo: 10) == .bytes {}
    #expect(worker.heldByteCount > 0)
    #expect(worker.hasMessage && !worker.isWithinMessage)
    #expect(try worker.takeMessage()?.message == .drain)
    #expect(worker.hasMessage)
    #expect(try worker.takeMessage()?.message == .cancel([LeaseID(rawValue: 1)]))
    #expect(!worker.hasMessage)
    #expect(worker.heldByteCount == 0)
    #expect(try worker.takeMessage() == nil)
  }

  @Test func `replies that were read leave no memory behind`() throws {
    let (coordinator, worker) = try channels()
    let leases = (0..<50_000).map { LeaseID(rawValue: $0) }
    while !coordinator.hasUnsent { try coordinator.send(.cancel(leases)) }
    #expect(coordinator.heldByteCount > 0)
    while coordinator.hasUnsent {
      _ = try worker.receive()
      try coordinator.flush()
    }
    #expect(coordinator.heldByteCount == 0)
  }

  @Test func `nothing to read is no message and no wait`() throws {
    let (coordinator, worker) = try channels()
    #expect(try worker.receive().deliveries.isEmpty)
    #expect(try !coordinator.receive().isClosed)
  }

  @Test func `a closed end is told after its last message`() throws {
    var (coordinator, worker): (CoordinatorEnd?, WorkerEnd) = try channels()
    try coordinator?.send(.drain)
    coordinator = nil
    #expect(try worker.next(until: soon) == .drain)
    #expect {
      try worker.next(until: soon)
    } throws: {
      if case ChannelError.closed = $0 { true } else { false }
    }
  }

  @Test func `a message to a closed end says that it is closed`() throws {
    let worker = try channels().1
    // Until no child that another test starts has the other end open, as it has until its exec.
    #expect(throws: ChannelError.self) { try worker.next(until: soon) }
    #expect {
      try worker.send(.released([LeaseID(rawValue: 1)]))
    } throws: {
      ($0 as? ChannelError)?.isClosedEnd == true
    }
    #expect(!ChannelError.timedOut.isClosedEnd)
  }

  @Test func `waiting for a silent peer ends at the deadline`() throws {
    let (coordinator, worker) = try channels()
    #expect {
      try worker.next(until: .now)
    } throws: {
      if case ChannelError.timedOut = $0 { true } else { false }
    }
    withExtendedLifetime(coordinator) {}
  }

  @Test func `what did not fit the socket arrives once the peer reads`() throws {
    let (coordinator, worker) = try channels()
    let leases = (0..<50_000).map { LeaseID(rawValue: $0) }
    while !coordinator.hasUnsent { try coordinator.send(.cancel(leases)) }
    var received: [CoordinatorMessage] = []
    while coordinator.hasUnsent {
      received += try worker.receive().deliveries.map(\.message)
      try coordinator.flush()
    }
    received += try worker.receive().deliveries.map(\.message)
    #expect(received.last == .cancel(leases))
  }

  @Test(
    arguments: [
      [0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF], frame(Array("no JSON".utf8)),
      frame(Array(#"{"type":"hello"}"#.utf8)),
    ] as [[UInt8]])
  func `garbage is an error of this connection`(bytes: [UInt8]) throws {
    var pair = try UnixSocket.pair()
    let foreignEnd = pair.takeFirst()
    let coordinator: CoordinatorEnd = try Channel(pair.takeSecond())
    _ = try UnixSocket.send(foreignEnd.rawValue, bytes[...])
    #expect(throws: ChannelError.self) { try coordinator.next(until: soon) }
  }
}

/// A message that goes either way, with or without a file.
struct Note: WireMessage, Fielded, Equatable {
  static let sender = "test"

  let text: String
  var announcesFile = false

  init(text: String, announcesFile: Bool = false) {
    (self.text, self.announcesFile) = (text, announcesFile)
  }

  init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    announcesFile = try f.field("file", value?.announcesFile)
    text = try f.field("text", value?.text)
  }

  func write(to f: inout Fields) throws(FieldError) {
    f.beginMessage("note")
    _ = try Self(&f, self)
    try f.endObject()
  }

  static func read(_ type: String, from f: inout Fields) throws(FieldError) -> Self? {
    let note = try Self(&f, nil)
    try f.endObject()
    return type == "note" ? note : nil
  }

  /// The frame of a note.
  static func frame(_ text: String, announcesFile: Bool) throws -> [UInt8] {
    try WireCoding.frame(Note(text: text, announcesFile: announcesFile))
  }
}

/// One end of a connection over which notes go.
typealias NoteChannel = Channel<Note, Note>

extension NoteChannel {
  static func pair() throws -> (NoteChannel, NoteChannel) {
    var pair = try UnixSocket.pair()
    return (try Channel(pair.takeFirst()), try Channel(pair.takeSecond()))
  }

  /// Sends a note, and beside it a file that holds its text if it is to have one.
  func send(_ text: String, withFile: Bool) throws {
    let file = withFile ? try MemoryFile(containing: Array(text.utf8)).file : nil
    try send(Note(text: text, announcesFile: withFile), with: file)
  }
}

extension Delivery<Note> {
  /// Whether the file is that which ``NoteChannel/send(_:withFile:)`` has sent with the note.
  var isWhole: Bool {
    get throws {
      guard message.announcesFile else { return file == nil }
      let bytes = Array(message.text.utf8)
      return try file.map(MemoryFile.init)?.contents(byteCount: bytes.count) == bytes
    }
  }
}

/// A descriptor to be passed around whose last copy, in whichever process, is seen to be closed.
final class WatchedFile {
  private let witness: OwnedDescriptor
  private var end: PassedFile?

  init() throws {
    var pair = try UnixSocket.pair()
    witness = pair.takeFirst()
    // No file in memory, but the end of a socket, whose other end hears of its being closed.
    end = PassedFile(adopting: pair.takeSecond())
  }

  /// The descriptor; what is left of it here is closed when the caller lets go.
  func take() -> PassedFile? {
    end.take()
  }

  /// Whether no copy is left; waits for it.
  func isClosed() throws -> Bool {
    var bytes: [UInt8] = []
    return try UnixSocket.waitReadable(witness.rawValue, until: .now + .seconds(60))
      && UnixSocket.receive(witness.rawValue, into: &bytes, upTo: 1) == .closed
  }
}

/// Peers whose files do not go with their messages: an error of this connection, and nothing stays
/// open.
@Suite(.timeLimit(.minutes(20))) struct HostilePeerTests {
  /// What a peer sends at once: bytes, and a file or none.
  struct Piece: Sendable {
    let bytes: [UInt8]
    let hasFile: Bool
  }

  /// Receives the pieces one by one, and then the end.
  private func error(of pieces: [Piece]) throws -> ChannelError? {
    var pair = try UnixSocket.pair()
    let peer = pair.takeFirst()
    let channel = try NoteChannel(pair.takeSecond())
    let files = try pieces.map { $0.hasFile ? try WatchedFile() : nil }
    var error: ChannelError?
    for (piece, file) in zip(pieces, files) {
      let passed = file?.take()
      _ = try UnixSocket.send(peer.rawValue, piece.bytes[...], passing: passed?.descriptor)
      do throws(ChannelError) {
        _ = try channel.receive()
      } catch let first where error == nil {
        error = first
      } catch {}
    }
    _ = consume channel
    for file in files { #expect(try file?.isClosed() ?? true) }
    return error
  }

  private func expect(
    _ wanted: PassedFileError, of pieces: [Piece], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let error = try error(of: pieces)
    guard case .passedFile(wanted) = error else {
      Issue.record(
        "\(wanted) rather than \(String(describing: error))", sourceLocation: sourceLocation)
      return
    }
  }

  @Test func `a message without the file that it announces`() throws {
    let frame = try Note.frame("a", announcesFile: true)
    try expect(.missing, of: [Piece(bytes: frame, hasFile: false)])
  }

  @Test func `a file beside a message that announces none`() throws {
    let frame = try Note.frame("a", announcesFile: false)
    try expect(.unannounced, of: [Piece(bytes: frame, hasFile: true)])
  }

  @Test func `a file in the middle of a frame`() throws {
    let frame = try Note.frame("a", announcesFile: true)
    try expect(
      .misplaced,
      of: [
        Piece(bytes: Array(frame[..<5]), hasFile: false),
        Piece(bytes: Array(frame[5..<6]), hasFile: true),
      ])
  }

  @Test func `a file at the end of a frame that has begun before`() throws {
    let frame = try Note.frame("a", announcesFile: true)
    try expect(
      .misplaced,
      of: [
        Piece(bytes: Array(frame[..<5]), hasFile: false),
        Piece(bytes: Array(frame[5...]), hasFile: true),
      ])
  }

  @Test func `a second file for one frame`() throws {
    let frame = try Note.frame("a", announcesFile: true)
    try expect(
      .misplaced,
      of: [
        Piece(bytes: Array(frame[..<1]), hasFile: true),
        Piece(bytes: Array(frame[1..<2]), hasFile: true),
      ])
  }

  @Test func `a file that comes with the next frame instead of its own`() throws {
    let frames = try ["a", "b"].map { try Note.frame($0, announcesFile: true) }
    try expect(.missing, of: [Piece(bytes: frames[0] + frames[1], hasFile: true)])
  }

  @Test func `garbage with a file`() throws {
    let error = try error(of: [Piece(bytes: [0, 0, 0, 0], hasFile: true)])
    guard case .framing(.empty) = error else {
      Issue.record("a frame without bytes rather than \(String(describing: error))")
      return
    }
  }

  @Test func `a frame that is never completed leaves no file open`() throws {
    let frame = try Note.frame("a", announcesFile: true)
    #expect(try error(of: [Piece(bytes: Array(frame[..<9]), hasFile: true)]) == nil)
  }

  @Test func `several files at once`() throws {
    var pair = try UnixSocket.pair()
    let peer = pair.takeFirst()
    let channel = try NoteChannel(pair.takeSecond())
    let files = [try WatchedFile(), try WatchedFile(), try WatchedFile()]
    do {
      let passed = files.map { $0.take() }
      #expect(send([1], passing: passed.compactMap { $0?.descriptor }, to: peer.rawValue) == 1)
    }
    #expect {
      try channel.receive()
    } throws: {
      if case ChannelError.passedFile(.several) = $0 { true } else { false }
    }
    for file in files { #expect(try file.isClosed()) }
  }

  /// What `UnixSocket` does not do: the control message of cmsg(3), spelled out.
  private func send(_ bytes: [UInt8], passing descriptors: [CInt], to socket: CInt) -> Int {
    var bytes = bytes
    let byteCount = MemoryLayout<cmsghdr>.size + 4 * descriptors.count
    var control = [UInt64](repeating: 0, count: (byteCount + 7) / 8)
    return unsafe control.withUnsafeMutableBytes { control in
      unsafe control.storeBytes(of: UInt64(byteCount), as: UInt64.self)
      unsafe control.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: CInt.self)
      unsafe control.storeBytes(of: CInt(SCM_RIGHTS), toByteOffset: 12, as: CInt.self)
      for (index, descriptor) in descriptors.enumerated() {
        unsafe control.storeBytes(of: descriptor, toByteOffset: 16 + 4 * index, as: CInt.self)
      }
      return unsafe bytes.withUnsafeMutableBytes { bytes in
        var part = unsafe iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        return unsafe withUnsafeMutablePointer(to: &part) { part in
          var message = unsafe msghdr()
          unsafe message.msg_iov = part
          unsafe message.msg_iovlen = 1
          unsafe message.msg_control = control.baseAddress
          unsafe message.msg_controllen = control.count
          return unsafe sendmsg(socket, &message, 0)
        }
      }
    }
  }
}
