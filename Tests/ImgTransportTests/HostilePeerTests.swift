import Glibc
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire
import Testing

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
