import Glibc
import ImgSystem
import TestFiles
import Testing

@Suite(.timeLimit(.minutes(20)))
struct MappedFileTests {
  private let directory: TestDirectory
  private let path: String

  init() throws {
    directory = try TestDirectory()
    path = directory.path + "/file"
  }

  @Test func `a file is created with its prepared content, readable only by its user`() throws {
    let created = try MappedFile.create(path: path, byteCount: 4_096) { $0.setWord(1, to: 7) }
    #expect(created.word(0) == 0)
    #expect(created.word(1) == 7)
    #expect(created.byte(8) == 7)
    var status = stat()
    #expect(unsafe stat(path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    #expect(status.st_size == 4_096)
    // No page of it waits for room on the disk.
    #expect(status.st_blocks * 512 >= 4_096)
    #expect(unsafe access(path + ".tmp", F_OK) != 0)
  }

  @Test func `two mappings of one file share words, and no addition is lost`() throws {
    let first = try MappedFile.create(path: path, byteCount: 100) { _ in }
    let second = try MappedFile(path: path, byteCount: 100)
    first.add(2, toWord: 3)
    second.add(3, toWord: 3)
    first.setByte(99, to: 1)
    #expect(first.word(3) == 5)
    #expect(second.byte(99) == 1)
  }

  @Test func `recreating a file does not change existing mappings`() throws {
    let former = try MappedFile.create(path: path, byteCount: 64) { $0.setWord(0, to: 1) }
    let later = try MappedFile.create(path: path, byteCount: 64) { _ in }
    #expect(former.word(0) == 1)
    #expect(later.word(0) == 0)
  }

  @Test(arguments: [0, 63, 65])
  func `a file of another size is not mapped`(byteCount: Int) throws {
    _ = try MappedFile.create(path: path, byteCount: 64) { _ in }
    #expect(unsafe truncate(path, byteCount) == 0)
    #expect(throws: SystemError(operation: "map file", code: EINVAL)) {
      _ = try MappedFile(path: path, byteCount: 64)
    }
  }

  @Test func `a file of one of several sizes is mapped with its size`() throws {
    _ = try MappedFile.create(path: path, byteCount: 96) { $0.setByte(95, to: 7) }
    let mapped = try MappedFile(path: path) { $0 % 32 == 0 }
    #expect(mapped.byteCount == 96)
    #expect(mapped.byte(95) == 7)
    #expect(throws: SystemError(operation: "map file", code: EINVAL)) {
      _ = try MappedFile(path: path) { $0 > 96 }
    }
  }

  @Test func `opening does not create a missing file`() throws {
    let error = #expect(throws: SystemError.self) {
      _ = try MappedFile(path: path, byteCount: 64)
    }
    #expect(error?.code == ENOENT)
  }

  @Test func `an access beyond the end traps`() async {
    await #expect(processExitsWith: .failure) {
      let directory = try TestDirectory()
      let file = try MappedFile.create(path: directory.path + "/f", byteCount: 64) { _ in }
      _ = file.byte(64)
    }
    await #expect(processExitsWith: .failure) {
      let directory = try TestDirectory()
      let file = try MappedFile.create(path: directory.path + "/f", byteCount: 71) { _ in }
      file.add(1, toWord: 8)
    }
  }
}
