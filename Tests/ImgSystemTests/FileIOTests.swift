import Glibc
import ImgSystem
import TestFiles
import Testing

@Suite(.timeLimit(.minutes(20)))
struct FileIOTests {
  private let directory: TestDirectory
  private var path: String { directory.file("file") }

  init() throws {
    directory = try TestDirectory()
  }

  @Test func `a directory is not opened for reading`() {
    #expect(throws: SystemError(operation: "open \(directory.path)", code: EISDIR)) {
      _ = try FileIO.open(readingFrom: directory.path)
    }
  }

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

  @Test func `text is appended to a file that is created when missing`() throws {
    for word in ["one ", "two"] {
      let file = try FileIO.open(appendingTo: path)
      try FileIO.writeAll(file.rawValue, word)
    }
    #expect(try FileIO.contents(of: path, upTo: 100) == Array("one two".utf8))
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
