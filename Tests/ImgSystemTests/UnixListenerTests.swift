import Glibc
import ImgSystem
import TestFiles
import Testing

@Suite(.timeLimit(.minutes(20)))
struct UnixListenerTests {
  private let directory: TestDirectory
  private var path: String { directory.file("socket") }

  init() throws {
    directory = try TestDirectory()
  }

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
