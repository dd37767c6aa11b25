import Glibc
import TestFiles
import Testing

@testable import ImgSystem

@Suite(.timeLimit(.minutes(20))) struct SharedMemoryTests {
  private static let pageByteCount = ThisProcess.pageByteCount

  @Test(arguments: [SharedMemory.Writers.everyProcess, .creator])
  func `what the creator writes is read in another process`(writers: SharedMemory.Writers) throws {
    let memory = try SharedMemory(byteCount: 100, writers: writers)
    let other = try SharedMemory(mapping: memory.file, isWritable: false)
    #expect(other.byteCount == 100)
    memory.write([1, 2, 3].span, at: 97)
    #expect(other.bytes(in: 96..<100) == [0, 1, 2, 3])
    other.withBytes(in: 97..<100) { #expect($0[2] == 3) }
    memory.setWord(2, to: 9)
    #expect(other.word(2) == 9)
  }

  @Test func `memory for every process is written through each mapping`() throws {
    let memory = try SharedMemory(byteCount: 16, writers: .everyProcess)
    let other = try SharedMemory(mapping: memory.file, isWritable: true)
    other.setWord(1, to: 5)
    #expect(memory.word(1) == 5)
  }

  @Test func `nothing but the creator's mapping writes to sealed memory`() throws {
    let memory = try SharedMemory(byteCount: 16, writers: .creator)
    #expect(throws: SystemError(operation: "mmap", code: EPERM)) {
      _ = try SharedMemory(mapping: memory.file, isWritable: true)
    }
    #expect(unsafe pwrite(memory.file.descriptor, [1], 1, 0) == -1)
    #expect(errno == EPERM)
    let readable = unsafe mmap(nil, 16, PROT_READ, MAP_SHARED, memory.file.descriptor, 0)
    #expect(unsafe mprotect(readable, 16, PROT_READ | PROT_WRITE) == -1)
    #expect(errno == EACCES)
    unsafe munmap(readable, 16)
    memory.setWord(0, to: 1)
    #expect(memory.word(0) == 1)
  }

  @Test func `the size of either kind cannot change`() throws {
    for writers in [SharedMemory.Writers.everyProcess, .creator] {
      let memory = try SharedMemory(byteCount: 16, writers: writers)
      for size in [0, 17] {
        #expect(ftruncate(memory.file.descriptor, off_t(size)) == -1)
        #expect(errno == EPERM)
      }
    }
  }

  @Test func `a write to a mapping for reading ends the process`() async {
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      // The test library's own handler would change the exit.
      Glibc.signal(SIGSEGV, SIG_DFL)
      let memory = try SharedMemory(byteCount: 16, writers: .creator)
      try SharedMemory(mapping: memory.file, isWritable: false).setWord(0, to: 1)
    }
  }

  @Test func `a file is read to the start of the memory, as far as it goes`() throws {
    let file = try MemoryFile(containing: [1, 2, 3, 4]).file
    let memory = try SharedMemory(byteCount: 10, writers: .creator)
    #expect(try memory.read(from: file.descriptor, upTo: 10) == 4)
    #expect(memory.bytes(in: 0..<5) == [1, 2, 3, 4, 0])
    #expect(try memory.read(from: file.descriptor, upTo: 2) == 2)
    #expect(try memory.read(from: file.descriptor, upTo: 0) == 0)
  }

  @Test func `released memory is zeros again`() throws {
    let page = Self.pageByteCount
    let memory = try SharedMemory(byteCount: 3 * page, writers: .everyProcess)
    memory.write([UInt8](repeating: 7, count: 3 * page).span, at: 0)
    try memory.release(from: page)
    #expect(memory.bytes(in: 0..<page).allSatisfy { $0 == 7 })
    #expect(memory.bytes(in: page..<(3 * page)).allSatisfy { $0 == 0 })
  }

  @Test func `sealed memory is not released`() throws {
    let memory = try SharedMemory(byteCount: 16, writers: .creator)
    #expect(throws: SystemError(operation: "fallocate", code: EPERM)) {
      try memory.release(from: 0)
    }
  }

  @Test func `an empty file is refused`() throws {
    let file = try MemoryFile(containing: []).file
    #expect(throws: SystemError(operation: "map shared memory", code: EINVAL)) {
      _ = try SharedMemory(mapping: file, isWritable: false)
    }
  }

  @Test(arguments: [-1..<1, 8..<17])
  func `an access beyond the memory traps`(range: Range<Int>) async {
    await #expect(processExitsWith: .failure) { [range = range as Range<Int>] in
      _ = try SharedMemory(byteCount: 16, writers: .creator).bytes(in: range)
    }
  }
}

@Suite(.timeLimit(.minutes(20))) struct SharedWordsTests {
  @Test func `two mappings of one file see each other`() throws {
    let words = try SharedWords(count: 2)
    let other = try SharedWords(
      adopting: OwnedDescriptor(adopting: fcntl(words.descriptor, F_DUPFD_CLOEXEC, 0)), count: 2)
    words.store(1, at: 0)
    other.store(2, at: 1)
    #expect(other.load(0) == 1)
    #expect(words.load(1) == 2)
  }

  @Test func `writes of another process are visible`() throws {
    let words = try SharedWords(count: 1)
    let child = try ChildProcess.spawn(
      executable: "/bin/sh", arguments: ["-c", "printf AAAAAAAA >&3"], environment: nil,
      descriptors: [(parent: words.descriptor, child: 3)])
    #expect(child.waitForExit(until: .now + .seconds(60)) == .exited(0))
    #expect(words.load(0) == 0x4141_4141_4141_4141)
  }

  @Test func `the file cannot be truncated`() throws {
    let words = try SharedWords(count: 1)
    #expect(ftruncate(words.descriptor, 0) == -1)
    #expect(errno == EPERM)
  }

  @Test func `a file with too few words is refused`() throws {
    let words = try SharedWords(count: 2)
    #expect(throws: SystemError(operation: "map shared words", code: EINVAL)) {
      _ = try SharedWords(
        adopting: OwnedDescriptor(adopting: fcntl(words.descriptor, F_DUPFD_CLOEXEC, 0)), count: 3)
    }
  }

  @Test func `an access beyond the end traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = try SharedWords(count: 1).load(1)
    }
  }
}

@Suite(.timeLimit(.minutes(20))) struct MemoryFileTests {
  private let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

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

@Suite(.timeLimit(.minutes(20))) struct MappedFileTests {
  private let directory = TestDirectory()
  private var path: String { directory.path + "/file" }

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
      let directory = TestDirectory()
      let file = try MappedFile.create(path: directory.path + "/f", byteCount: 64) { _ in }
      _ = file.byte(64)
    }
    await #expect(processExitsWith: .failure) {
      let directory = TestDirectory()
      let file = try MappedFile.create(path: directory.path + "/f", byteCount: 71) { _ in }
      file.add(1, toWord: 8)
    }
  }
}

struct AvailableMemoryTests {
  @Test func `the kernel's table is read in kibibytes`() {
    let text = "MemTotal:       100 kB\nMemFree:  7 kB\nMemAvailable:   40 kB\n"
    #expect(
      AvailableMemory(memoryInformation: text)
        == AvailableMemory(availableByteCount: 40_960, totalByteCount: 102_400))
    #expect(AvailableMemory(memoryInformation: "MemTotal: 1 kB\n") == nil)
  }
}
