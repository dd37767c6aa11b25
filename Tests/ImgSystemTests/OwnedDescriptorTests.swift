import Glibc
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct OwnedDescriptorTests {
  @Test func `destroying the owner closes the descriptor`() throws {
    var pair = try UnixSocket.pair()
    let reader = pair.takeFirst()
    do {
      _ = pair.takeSecond()
    }
    var buffer: [UInt8] = []
    #expect(try UnixSocket.receive(reader.rawValue, into: &buffer, upTo: 1) == .closed)
  }

  @Test func `a released descriptor stays open`() throws {
    var pair = try UnixSocket.pair()
    let reader = pair.takeFirst()
    let released = pair.takeSecond().release()
    #expect(try UnixSocket.send(released, [1]) == 1)
    var buffer: [UInt8] = []
    #expect(try UnixSocket.receive(reader.rawValue, into: &buffer, upTo: 1) == .received(1))
    _ = OwnedDescriptor(adopting: released)
  }

  @Test func `a duplicate is another number for the same file, and close-on-exec`() throws {
    var pair = try UnixSocket.pair()
    let reader = pair.takeFirst()
    let duplicate = try {
      let original = pair.takeSecond()
      let duplicate = try original.duplicate()
      #expect(duplicate.rawValue != original.rawValue)
      return duplicate
    }()
    #expect(fcntl(duplicate.rawValue, F_GETFD) & FD_CLOEXEC != 0)
    #expect(try UnixSocket.send(duplicate.rawValue, [1]) == 1)
    var buffer: [UInt8] = []
    #expect(try UnixSocket.receive(reader.rawValue, into: &buffer, upTo: 1) == .received(1))
  }
}
