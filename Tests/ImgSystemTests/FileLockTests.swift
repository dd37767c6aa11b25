import Dispatch
import Glibc
import ImgSystem
import TestFiles
import Testing

@Suite(.timeLimit(.minutes(20)))
struct FileLockTests {
  private let directory: TestDirectory
  private var path: String { directory.file("lock") }

  init() throws {
    directory = try TestDirectory()
  }

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
