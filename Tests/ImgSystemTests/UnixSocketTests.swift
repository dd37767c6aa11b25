import Glibc
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct UnixSocketTests {
  @Test func `received bytes are appended up to the limit`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let far = pair.takeSecond()
    #expect(try UnixSocket.send(far.rawValue, [1, 2, 3]) == 3)
    var buffer: [UInt8] = [9]
    #expect(try UnixSocket.receive(near.rawValue, into: &buffer, upTo: 2) == .received(2))
    #expect(buffer == [9, 1, 2])
    #expect(try UnixSocket.receive(near.rawValue, into: &buffer, upTo: 2) == .received(1))
    #expect(buffer == [9, 1, 2, 3])
  }

  @Test func `a non-blocking socket reports when it would block`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let far = pair.takeSecond()
    try UnixSocket.setNonBlocking(near.rawValue, true)
    var buffer: [UInt8] = []
    #expect(try UnixSocket.receive(near.rawValue, into: &buffer, upTo: 8) == .wouldBlock)
    let chunk = [UInt8](repeating: 0, count: 1 << 16)
    while try UnixSocket.send(near.rawValue, chunk[...]) != nil {}
    #expect(try !UnixSocket.waitWritable(near.rawValue, until: .now))
    #expect(try UnixSocket.waitReadable(far.rawValue, until: nil))
    #expect(buffer.isEmpty)
  }

  @Test func `a closed peer ends reads and makes writes fail with EPIPE`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    do {
      _ = pair.takeSecond()
    }
    var buffer: [UInt8] = []
    #expect(try UnixSocket.receive(near.rawValue, into: &buffer, upTo: 8) == .closed)
    #expect(throws: SystemError(operation: "send", code: EPIPE)) {
      _ = try UnixSocket.send(near.rawValue, [1])
    }
  }

  @Test func `a peer that closed with unread bytes counts as closed`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    do {
      let far = pair.takeSecond()
      _ = try UnixSocket.send(near.rawValue, [1])
      _ = far.rawValue
    }
    var buffer: [UInt8] = []
    #expect(try UnixSocket.receive(near.rawValue, into: &buffer, upTo: 8) == .closed)
  }

  @Test func `a wait ends at its deadline`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    #expect(try !UnixSocket.waitReadable(near.rawValue, until: .now + .milliseconds(5)))
    #expect(try UnixSocket.waitWritable(near.rawValue, until: .now + .seconds(60)))
  }

  @Test func `the ends of a pair belong to this process`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let credentials = try UnixSocket.credentials(of: near.rawValue)
    #expect(credentials.processID == ThisProcess.processID)
    #expect(credentials.userID == ThisProcess.userID)
    #expect(credentials.groupID == getegid())
  }
}
