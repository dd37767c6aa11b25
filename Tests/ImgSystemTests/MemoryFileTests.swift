import Glibc
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct MemoryFileTests {
  private let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

  /// The file as its receiver has it.
  private func passedOn(_ file: MemoryFile) throws -> MemoryFile {
    MemoryFile(
      PassedFile(
        adopting: OwnedDescriptor(adopting: fcntl(file.file.descriptor, F_DUPFD_CLOEXEC, 0))))
  }

  @Test func `the bytes can be read repeatedly at any position`() throws {
    let file = try MemoryFile(containing: bytes)
    let other = try passedOn(file)
    #expect(lseek(other.file.descriptor, 500, SEEK_SET) == 500)
    #expect(try other.contents(byteCount: bytes.count) == bytes)
    #expect(try file.contents(byteCount: bytes.count) == bytes)
  }

  @Test func `an empty memory file is valid`() throws {
    #expect(try MemoryFile(containing: []).contents(byteCount: 0) == [])
  }

  @Test func `a memory file cannot be changed`() throws {
    let file = try MemoryFile(containing: bytes)
    for size in [0, bytes.count + 1] {
      #expect(ftruncate(file.file.descriptor, off_t(size)) == -1)
      #expect(errno == EPERM)
    }
    #expect(unsafe pwrite(file.file.descriptor, [1], 1, 0) == -1)
    #expect(errno == EPERM)
    #expect(fcntl(file.file.descriptor, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test func `an unsealed file is refused`() throws {
    // Its size is sealed, its bytes are not.
    let words = try SharedWords(count: 1)
    let file = MemoryFile(
      PassedFile(
        adopting: OwnedDescriptor(adopting: fcntl(words.descriptor, F_DUPFD_CLOEXEC, 0))))
    #expect(throws: SystemError(operation: "read an unsealed file", code: EPERM)) {
      _ = try file.contents(byteCount: 8)
    }
  }

  @Test func `a file that is not a memory file is refused`() throws {
    var pair = try UnixSocket.pair()
    let file = MemoryFile(PassedFile(adopting: pair.takeFirst()))
    #expect(throws: SystemError(operation: "fcntl F_GET_SEALS", code: EINVAL)) {
      _ = try file.contents(byteCount: 1)
    }
  }

  @Test(arguments: [-1, 0, 99_999, 100_001, .max])
  func `a file of another size is refused`(byteCount: Int) throws {
    let file = try MemoryFile(containing: bytes)
    #expect(throws: SystemError(operation: "read a file of another size", code: EINVAL)) {
      _ = try file.contents(byteCount: byteCount)
    }
  }
}
