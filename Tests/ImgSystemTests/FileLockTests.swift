import Glibc
import ImgSystem
import Testing

struct FileLockTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.file("lock") }

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test func `a lock is held by one, who is named, until it is closed`() throws {
    #expect(FileLock.holder(path: path) == nil)
    do {
      let lock = try FileLock.acquire(path: path)
      let isHeld = lock != nil
      #expect(isHeld)
      #expect(try !canBeAcquired())
      #expect(FileLock.holder(path: path) == ThisProcess.processID)
    }
    #expect(FileLock.holder(path: path) == nil)
    #expect(try canBeAcquired())
  }

  @Test func `nothing of a former holder is left in the file`() throws {
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

  private func canBeAcquired() throws -> Bool {
    try FileLock.acquire(path: path) != nil
  }
}
