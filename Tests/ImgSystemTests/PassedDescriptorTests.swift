import Glibc
import ImgSystem
import Testing

/// Descriptors that go from one process to another beside bytes.
@Suite(.timeLimit(.minutes(20)))
struct PassedDescriptorTests {
  @Test func `a descriptor arrives with the first of its bytes, and close-on-exec`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let far = pair.takeSecond()
    let file = try MemoryFile(containing: [7, 8, 9]).file
    #expect(try UnixSocket.send(far.rawValue, [1, 2, 3], passing: file.descriptor) == 3)
    var buffer: [UInt8] = []
    var passed: OwnedDescriptor?
    let result = try UnixSocket.receive(near.rawValue, into: &buffer, upTo: 1, passed: &passed)
    #expect(result == .received(1))
    guard let descriptor = passed.take() else {
      Issue.record("no descriptor has come")
      return
    }
    let arrived = PassedFile(adopting: descriptor)
    #expect(arrived.descriptor != file.descriptor)
    #expect(fcntl(arrived.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(try MemoryFile(arrived).contents(byteCount: 3) == [7, 8, 9])

    _ = try UnixSocket.receive(near.rawValue, into: &buffer, upTo: 8, passed: &passed)
    #expect(buffer == [1, 2, 3])
    let hasMore = passed != nil
    #expect(!hasMore)
  }

  @Test func `earlier bytes may precede a descriptor's bytes, later ones never`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let far = pair.takeSecond()
    let file = try MemoryFile(containing: [1]).file
    _ = try UnixSocket.send(far.rawValue, [1])
    for byte in [2, 3] as [UInt8] {
      _ = try UnixSocket.send(far.rawValue, [byte], passing: file.descriptor)
    }
    _ = try UnixSocket.send(far.rawValue, [4])
    var reads: [[UInt8]] = []
    var arrivedCount = 0
    while reads.joined().count < 4 {
      var buffer: [UInt8] = []
      var passed: OwnedDescriptor?
      _ = try UnixSocket.receive(near.rawValue, into: &buffer, upTo: 8, passed: &passed)
      reads.append(buffer)
      if let descriptor = passed.take() {
        arrivedCount += 1
        _ = descriptor.rawValue
      }
    }
    #expect(arrivedCount == 2)
    #expect(reads.map(\.last) == [2, 3, 4])
  }

  @Test func `the kernel closes an unexpected descriptor`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let far = pair.takeSecond()
    var watched = try UnixSocket.pair()
    let witness = watched.takeFirst()
    do {
      let end = watched.takeSecond()
      _ = try UnixSocket.send(far.rawValue, [1], passing: end.rawValue)
    }
    var buffer: [UInt8] = []
    #expect(try UnixSocket.receive(near.rawValue, into: &buffer, upTo: 8) == .received(1))
    #expect(try UnixSocket.receive(witness.rawValue, into: &buffer, upTo: 8) == .closed)
  }

  @Test func `a full socket takes no descriptor without a byte`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let far = pair.takeSecond()
    try UnixSocket.setNonBlocking(far.rawValue, true)
    let chunk = [UInt8](repeating: 0, count: 1 << 16)
    while try UnixSocket.send(far.rawValue, chunk[...]) != nil {}
    let file = try MemoryFile(containing: [1]).file
    #expect(try UnixSocket.send(far.rawValue, [1], passing: file.descriptor) == nil)
    withExtendedLifetime(near.rawValue) {}
  }

  @Test func `a process at its descriptor limit gets an error`() async {
    await #expect(processExitsWith: .success) {
      var pair = try UnixSocket.pair()
      let near = pair.takeFirst()
      let far = pair.takeSecond()
      _ = try UnixSocket.send(far.rawValue, [1], passing: 0)
      // The next free number is one too many from here on.
      let next = dup(0)
      close(next)
      var limit = rlimit(rlim_cur: rlim_t(next), rlim_max: rlim_t(next))
      guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
        exit(1)
      }
      var buffer: [UInt8] = []
      var passed: OwnedDescriptor?
      do {
        _ = try UnixSocket.receive(near.rawValue, into: &buffer, upTo: 8, passed: &passed)
        exit(2)
      } catch {
        exit((error as? SystemError)?.code == EMFILE ? 0 : 3)
      }
    }
  }
}
