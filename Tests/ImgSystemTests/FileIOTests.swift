import Dispatch
import Glibc
import ImgSystem
import TestFiles
import Testing

@Suite(.timeLimit(.minutes(20))) struct FileIOTests {
  private let directory = TestDirectory()
  private var path: String { directory.file("file") }

  @Test func `reading appends up to the limit and returns 0 at the end`() throws {
    try FileIO.replace(path: path, with: [1, 2, 3])
    let file = try FileIO.open(readingFrom: path)
    var bytes: [UInt8] = [9]
    #expect(try FileIO.read(file.rawValue, into: &bytes, upTo: 2) == 2)
    #expect(try FileIO.read(file.rawValue, into: &bytes, upTo: 2) == 1)
    #expect(try FileIO.read(file.rawValue, into: &bytes, upTo: 2) == 0)
    #expect(bytes == [9, 1, 2, 3])
  }

  @Test func `a file beyond the limit is EFBIG`() throws {
    try FileIO.replace(path: path, with: [1, 2, 3])
    #expect(try FileIO.contents(of: path, upTo: 3) == [1, 2, 3])
    #expect(throws: SystemError(operation: "read \(path)", code: EFBIG)) {
      _ = try FileIO.contents(of: path, upTo: 2)
    }
  }

  @Test func `writing continues until everything is written, even to a full pipe`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let far = pair.takeSecond()
    try UnixSocket.setNonBlocking(near.rawValue, true)
    let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }
    let descriptor = near.rawValue
    let writer = try ServiceThread<[UInt8]>(name: "writer", capacity: 1) { queue in
      while let batch = queue.take(upTo: 1) {
        for bytes in batch {
          #expect(throws: Never.self) { try FileIO.writeAll(descriptor, bytes) }
        }
      }
    }
    #expect(writer.queue.push(bytes))
    var received: [UInt8] = []
    while received.count < bytes.count {
      #expect(try FileIO.read(far.rawValue, into: &received, upTo: 1 << 16) > 0)
    }
    writer.join()
    #expect(received == bytes)
  }

  @Test func `a replaced file has the new content and leaves nothing beside it`() throws {
    try FileIO.replace(path: path, with: [1, 2, 3])
    try FileIO.replace(path: path, with: [4])
    #expect(try FileIO.contents(of: path, upTo: 100) == [4])
    #expect(directory.names() == ["file"])
  }

  @Test func `a file with the longest name can be replaced, and a failure leaves nothing`() throws {
    let longest = String(repeating: "a", count: 255)
    try FileIO.replace(path: directory.file(longest), with: [1])
    let tooLong = directory.file(longest + "a")
    #expect(throws: SystemError(operation: "rename to \(tooLong)", code: ENAMETOOLONG)) {
      try FileIO.replace(path: tooLong, with: [1])
    }
    #expect(directory.names() == [longest])
  }

  @Test func `a directory is not replaced`() throws {
    #expect(unsafe mkdir(path, 0o700) == 0)
    #expect(throws: SystemError(operation: "open \(path)", code: EISDIR)) {
      try FileIO.replace(path: path, with: [1])
    }
    #expect(directory.names() == ["file"])
  }

  @Test func `a file that is not regular is written to, not replaced`() throws {
    #expect(unsafe mkfifo(path, 0o600) == 0)
    // Open for both directions, so that neither end blocks.
    let reader = OwnedDescriptor(adopting: unsafe open(path, O_RDWR | O_CLOEXEC))
    try FileIO.replace(path: path, with: [5])
    try #require(try UnixSocket.waitReadable(reader.rawValue, until: .now))
    var bytes: [UInt8] = []
    #expect(try FileIO.read(reader.rawValue, into: &bytes, upTo: 8) == 1)
    #expect(bytes == [5])
  }

  @Test
  func `a replacement follows no link and opens no pipe, and leaves nothing if it is dropped`()
    throws
  {
    let victim = directory.file("victim")
    try FileIO.replace(path: victim, with: [1])
    #expect(unsafe symlink(victim, path) == 0)
    let replacement = try ReplacementFile(path: path)
    try FileIO.writeAll(replacement.descriptor, [2])
    try replacement.commit()
    #expect(try FileIO.contents(of: path, upTo: 8) == [2])
    #expect(try FileIO.contents(of: victim, upTo: 8) == [1])

    let pipe = directory.file("pipe")
    #expect(unsafe mkfifo(pipe, 0o600) == 0)
    let error = #expect(throws: SystemError.self) {
      try FileIO.replaceRegular(path: pipe, with: [3])
    }
    #expect(error?.description.contains("\(pipe), which is not a regular file") == true)
    _ = try ReplacementFile(path: victim, isPrivate: true)
    #expect(directory.names().sorted() == ["file", "pipe", "victim"])
  }

  @Test func `a symbolic link as a log is refused, and its target stays`() throws {
    let victim = directory.file("victim")
    try FileIO.replace(path: victim, with: [1])
    #expect(unsafe symlink(victim, path) == 0)
    let error = #expect(throws: SystemError.self) {
      _ = try FileIO.open(log: path, truncatedAbove: 0)
    }
    #expect(error?.code == ELOOP)
    #expect(try FileIO.contents(of: victim, upTo: 8) == [1])
  }

  @Test func `a removed log continues in a new file`() throws {
    let kept = directory.file("kept")
    let removed = try FileIO.open(log: path, truncatedAbove: 1_000)
    let other = try FileIO.open(log: kept, truncatedAbove: 1_000)
    try FileIO.writeAll(removed.rawValue, "before\n")
    #expect(unsafe unlink(path) == 0)
    try FileIO.renewLog(at: path, for: [removed.rawValue, other.rawValue])
    try FileIO.writeAll(removed.rawValue, "after\n")
    try FileIO.writeAll(other.rawValue, "kept\n")
    #expect(try FileIO.contents(of: path, upTo: 100) == Array("after\n".utf8))
    #expect(try FileIO.contents(of: kept, upTo: 100) == Array("kept\n".utf8))
  }
}

@Suite(.timeLimit(.minutes(20))) struct FileLengthTests {
  private let root: TestDirectory
  private let path: String

  init() throws {
    root = TestDirectory()
    path = root.file("file")
  }

  @Test func `allocation extends a file and never truncates it`() throws {
    let file = try FileIO.open(updating: path)
    try FileIO.allocate(0..<5_000, of: file.rawValue)
    #expect(try FileStatus(of: file.rawValue).byteCount == 5_000)
    try FileIO.allocate(100..<200, of: file.rawValue)
    #expect(try FileStatus(of: file.rawValue).byteCount == 5_000)
    try FileIO.setByteCount(of: file.rawValue, to: 7)
    #expect(try FileIO.contents(of: path, upTo: 10) == [UInt8](repeating: 0, count: 7))
  }

  @Test func `a failed write is an error`() throws {
    let file = try FileIO.open(readingFrom: "/dev/null")
    #expect(throws: SystemError.self) { try FileIO.writeAll(file.rawValue, [1].span, at: 0) }
    #expect(throws: SystemError.self) { try FileIO.allocate(0..<1, of: file.rawValue) }
    #expect(throws: SystemError.self) { try FileIO.setByteCount(of: file.rawValue, to: 1) }
  }
}

@Suite(.timeLimit(.minutes(20))) struct FileLockTests {
  private let directory = TestDirectory()
  private var path: String { directory.file("lock") }

  /// In a process of its own: children of this one, which other tests start, have its files open
  /// from their fork to their exec, and hold its locks as long.
  @Test func `one process holds a lock, with its number, until it closes the file`() async {
    await #expect(processExitsWith: .success) { [path = path as String] in
      #expect(FileLock.holder(path: path) == nil)
      do {
        let lock = try FileLock.acquire(path: path)
        let isHeld = lock != nil
        #expect(isHeld)
        #expect(try !canBeAcquired(path))
        #expect(FileLock.holder(path: path)?.processID == ThisProcess.processID)
      }
      #expect(FileLock.holder(path: path) == nil)
      #expect(try canBeAcquired(path))
    }
  }

  @Test func `a lock whose file was removed or replaced is detected`() throws {
    guard let lock = try FileLock.acquire(path: path) else {
      Issue.record("no other process holds it")
      return
    }
    let atFirst = FileLock.isHeld(by: lock, at: path)
    #expect(atFirst)
    #expect(unsafe unlink(path) == 0)
    let whenRemoved = FileLock.isHeld(by: lock, at: path)
    #expect(!whenRemoved)
    #expect(try canBeAcquired(path))
    let whenReplaced = FileLock.isHeld(by: lock, at: path)
    #expect(!whenReplaced)
  }

  @Test func `the holder's note is read with its process number`() throws {
    let lock = try FileLock.acquire(path: path, note: "/run/user/1000/imgctl/control.sock")
    let isHeld = lock != nil
    #expect(isHeld)
    let holder = FileLock.holder(path: path)
    #expect(holder?.processID == ThisProcess.processID)
    #expect(holder?.note == "/run/user/1000/imgctl/control.sock")
  }

  @Test func `a new holder overwrites the former holder's note`() throws {
    try FileIO.replace(path: path, with: Array("123456789012345\n".utf8))
    let lock = try FileLock.acquire(path: path)
    let isHeld = lock != nil
    #expect(isHeld)
    let expected = Array("\(ThisProcess.processID)\n".utf8)
    #expect(try FileIO.contents(of: path, upTo: 64) == expected)
  }

  @Test func `a symbolic link is not followed`() throws {
    #expect(unsafe symlink(directory.file("target"), path) == 0)
    #expect(throws: SystemError(operation: "open \(path)", code: ELOOP)) {
      _ = try FileLock.acquire(path: path)
    }
  }

  /// The waiting call blocks only its own thread.
  @Test func `a waiting process gets the lock when its holder dies`() async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let lock = try FileLock.acquire(path: path)
      DispatchQueue(label: "waits").async {
        // Another open file, which counts like another process.
        _ = try? FileLock.acquire(waitingFor: path)
        // Never, as the holder lives on.
        _exit(1)
      }
      #expect(FileLock.holder(path: path)?.processID == ThisProcess.processID)
      kill(getpid(), SIGKILL)
      _ = consume lock
    }
    let lock = try FileLock.acquire(waitingFor: path)
    #expect(lock.rawValue >= 0)
    #expect(FileLock.holder(path: path)?.processID == ThisProcess.processID)
  }
}

private func canBeAcquired(_ path: String) throws -> Bool {
  try FileLock.acquire(path: path) != nil
}

/// Files with content that is replaced and perhaps put back.
struct ProvisionalFileTests {
  private let directory = TestDirectory()
  private var path: String { directory.file("a") }

  private func text() throws -> String {
    String(decoding: try FileIO.contents(of: path, upTo: 100), as: UTF8.self)
  }

  private func write(_ text: String) throws {
    try FileIO.replace(path: path, with: Array(text.utf8))
  }

  @Test func `a file is put back with its content and its rights`() throws {
    try write("old")
    unsafe chmod(path, 0o600)
    var file = try ProvisionalFile(path: path)
    try file.replace(with: Array("first".utf8))
    try file.replace(with: Array("second".utf8))
    #expect(try text() == "second")
    try file.restore()
    #expect(try text() == "old")
    var status = stat()
    unsafe stat(path, &status)
    #expect(status.st_mode & 0o777 == 0o600)
    #expect(status.st_nlink == 1)
    #expect(directory.names() == ["a"])
  }

  @Test func `where there was no file, there is none again`() throws {
    var file = try ProvisionalFile(path: path)
    try file.replace(with: Array("new".utf8))
    try file.restore()
    #expect(directory.names() == [])
  }

  @Test func `the final content stays, and nothing else`() throws {
    try write("old")
    var file = try ProvisionalFile(path: path)
    try file.replace(with: Array("provisional".utf8))
    try write("final")
    file.discard()
    #expect(try text() == "final")
    #expect(directory.names() == ["a"])
  }

  @Test(arguments: [false, true])
  func `a file that another process has put there stays`(isThereBefore: Bool) throws {
    if isThereBefore { try write("old") }
    var file = try ProvisionalFile(path: path)
    try file.replace(with: Array("provisional".utf8))
    try write("another")
    try file.restore()
    #expect(try text() == "another")
    #expect(directory.names() == ["a"])
  }

  @Test func `the provisional content of another is not replaced`() throws {
    try write("old")
    var file = try ProvisionalFile(path: path)
    try file.replace(with: Array("provisional".utf8))
    let error = SystemError(operation: "replace \(path)", code: EBUSY)
    #expect(throws: error) { _ = try ProvisionalFile(path: path) }
    try file.restore()
    let other = try ProvisionalFile(path: path)
    other.discard()
    #expect(try text() == "old")
  }
}

@Suite(.timeLimit(.minutes(20))) struct SpoolFileTests {
  @Test func `appended bytes are read in order at any position`() throws {
    let directory = TestDirectory()
    let file = try SpoolFile(in: directory.path)
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    try file.append(bytes.span.extracting(..<60_000))
    try file.append(bytes.span.extracting(60_000...))
    #expect(lseek(file.descriptor, 500, SEEK_SET) == 500)
    #expect(try file.contents(byteCount: bytes.count) == bytes)
    #expect(try file.contents(byteCount: 10) == Array(bytes[..<10]))
  }

  @Test func `reading more bytes than the file has is an error`() throws {
    let directory = TestDirectory()
    let file = try SpoolFile(in: directory.path)
    #expect(throws: SystemError.self) { try file.contents(byteCount: 1) }
  }

  @Test func `a spool file has no name and is not inherited`() throws {
    let directory = TestDirectory()
    let file = try SpoolFile(in: directory.path)
    var status = stat()
    #expect(unsafe fstat(file.descriptor, &status) == 0)
    #expect(status.st_nlink == 0)
    #expect(fcntl(file.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(unsafe rmdir(directory.path) == 0)
    #expect(unsafe mkdir(directory.path, 0o700) == 0)
  }

  @Test func `a missing directory or an unsupported file system is an error`() {
    // Who may not write there is told that first.
    for (directory, codes) in [("/nowhere", [ENOENT]), ("/proc", [EOPNOTSUPP, EACCES])] {
      let error = #expect(throws: SystemError.self) { try SpoolFile(in: directory) }
      #expect(error.map { codes.contains($0.code) } == true)
    }
  }
}
