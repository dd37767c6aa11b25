import Glibc
import TestFiles
import Testing

@testable import ImgSystem

@Suite(.timeLimit(.minutes(20))) struct UnixSocketTests {
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
}

@Suite(.timeLimit(.minutes(20))) struct UnixListenerTests {
  private let directory = TestDirectory()
  private var path: String { directory.file("socket") }

  @Test func `a connection has the credentials of its client`() throws {
    let listener = try UnixListener(path: path)
    #expect(try listener.accept() == nil)

    let client = try UnixSocket.connect(path: path)
    #expect(try UnixSocket.waitReadable(listener.descriptor, until: .now + .seconds(60)))
    guard let connection = try listener.accept() else {
      Issue.record("no connection")
      return
    }
    #expect(connection.credentials.processID == ThisProcess.processID)
    let server = connection.takeDescriptor()
    var buffer: [UInt8] = []
    #expect(try UnixSocket.receive(server.rawValue, into: &buffer, upTo: 1) == .wouldBlock)
    _ = try UnixSocket.send(client.rawValue, [7])
    #expect(try UnixSocket.receive(server.rawValue, into: &buffer, upTo: 1) == .received(1))
  }

  @Test func `only the owner may use the socket file`() throws {
    let listener = try UnixListener(path: path)
    var status = stat()
    #expect(unsafe lstat(path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    _ = listener.descriptor
  }

  @Test func `a path that does not fit a socket address is ENAMETOOLONG`() throws {
    let room = 107 - directory.path.utf8.count - 1
    let longest = directory.file(String(repeating: "a", count: room))
    let tooLong = directory.file(String(repeating: "a", count: room + 1))
    _ = try UnixListener(path: longest)
    #expect(throws: SystemError(operation: "bind \(tooLong)", code: ENAMETOOLONG)) {
      _ = try UnixListener(path: tooLong)
    }
    #expect(throws: SystemError(operation: "connect \(tooLong)", code: ENAMETOOLONG)) {
      _ = try UnixSocket.connect(path: tooLong)
    }
  }

  @Test func `an empty path is refused`() {
    #expect(throws: SystemError(operation: "bind ", code: ENOENT)) {
      _ = try UnixListener(path: "")
    }
  }

  @Test func `an existing path is left alone`() throws {
    try FileIO.replace(path: path, with: [1])
    #expect(throws: SystemError(operation: "bind \(path)", code: EADDRINUSE)) {
      _ = try UnixListener(path: path)
    }
    #expect(try FileIO.contents(of: path, upTo: 8) == [1])
  }

  @Test func `the socket file is removed with the listener`() throws {
    do {
      let listener = try UnixListener(path: path)
      _ = listener.descriptor
    }
    #expect(throws: SystemError(operation: "connect \(path)", code: ENOENT)) {
      _ = try UnixSocket.connect(path: path)
    }
  }

  @Test func `a file that replaced the socket stays`() throws {
    do {
      let listener = try UnixListener(path: path)
      // The second file is made while the first still holds its inode number.
      try FileIO.replace(path: directory.file("other"), with: [1])
      #expect(unsafe rename(directory.file("other"), path) == 0)
      _ = listener.descriptor
    }
    #expect(try FileIO.contents(of: path, upTo: 8) == [1])
  }

  @Test func `only a stale socket file is removed`() throws {
    try UnixSocket.removeFile(at: path)
    let listener = try UnixListener(path: path)
    try UnixSocket.removeFile(at: path)
    #expect(directory.names() == [])
    _ = listener.descriptor
    try FileIO.replace(path: path, with: [1])
    #expect(throws: SystemError(operation: "\(path) is not a socket", code: EEXIST)) {
      try UnixSocket.removeFile(at: path)
    }
    #expect(try FileIO.contents(of: path, upTo: 8) == [1])
  }
}

/// Descriptors that go from one process to another beside bytes.
@Suite(.timeLimit(.minutes(20))) struct PassedDescriptorTests {
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

@Suite(.timeLimit(.minutes(20))) struct OwnedDescriptorTests {
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

struct SystemCallTests {
  @Test func `an interrupted call is repeated`() throws {
    var interruptions = 3
    let result: Int = try systemCall("test") {
      guard interruptions > 0 else { return 7 }
      interruptions -= 1
      errno = EINTR
      return -1
    }
    #expect(result == 7)
    #expect(interruptions == 0)
  }

  @Test func `other failures become errors with operation and code`() {
    #expect(throws: SystemError(operation: "test", code: EACCES)) {
      try systemCall("test") { () -> CInt in
        errno = EACCES
        return -1
      }
    }
  }

  @Test func `a path with a zero byte is refused before the call`() {
    #expect(throws: SystemError(operation: "open", code: EINVAL)) {
      try pathCall("open", "/etc/passwd\0.jpg") { () -> CInt in
        Issue.record("the call was made")
        return 0
      }
    }
  }

  @Test func `an error's description has a sentence and a symbol`() {
    #expect(
      SystemError(operation: "connect", code: ECONNREFUSED).description
        == "connect: Connection refused (ECONNREFUSED)")
    #expect(SystemError(operation: "connect", code: 9999).description == "connect: error 9999")
  }

  @Test(
    arguments: [
      (Duration.zero, 0), (.nanoseconds(1), 1), (.milliseconds(250), 250), (.seconds(-1), 0),
      (.milliseconds(-1), 0), (.seconds(1) + .nanoseconds(1), 1001), (.seconds(1 << 40), CInt.max),
    ] as [(Duration, CInt)])
  func `a wait is rounded up to milliseconds and bounded`(duration: Duration, expected: CInt) {
    #expect(duration.pollTimeout == expected)
  }
}

struct NetworkTests {
  @Test func `a refused connection is an answer, and what is no address gives none`() {
    // The lowest port, on which nothing listens.
    #expect(Network.answers(PeerAddress(address: "127.0.0.1", port: 1), within: .seconds(5)))
    #expect(!Network.answers(PeerAddress(address: "a.invalid", port: 1), within: .seconds(5)))
  }

  @Test func `the resolver answers for an address`() {
    #expect(Network.resolverAnswers("127.0.0.1"))
  }
}

struct IPAddressTests {
  @Test(
    arguments: [
      ("127.0.0.1", [127, 0, 0, 1]),
      ("0.0.0.0", [0, 0, 0, 0]),
      ("::1", [UInt8](repeating: 0, count: 15) + [1]),
      ("2001:db8::ff", [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [0xFF]),
    ] as [(String, [UInt8])])
  func `an address is read and written back`(text: String, bytes: [UInt8]) {
    #expect(IPAddress.bytes(parsing: text) == bytes)
    #expect(IPAddress.text(bytes) == text)
  }

  @Test(
    arguments: [
      "", "1", "127.1", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.1 ", "127.0.0.1\u{0}", "256.0.0.1",
      "[::1]", "fe80::1%lo", "::1::", "example.com",
    ])
  func `invalid addresses are refused`(text: String) {
    #expect(IPAddress.bytes(parsing: text) == nil)
  }

  @Test(arguments: [0, 3, 5, 15, 17])
  func `only 4 and 16 bytes have a text`(count: Int) {
    #expect(IPAddress.text([UInt8](repeating: 0, count: count)) == nil)
  }
}
