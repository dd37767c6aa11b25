import Glibc
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct SharedMemoryTests {
  private static let pageByteCount = ThisProcess.pageByteCount

  @Test(arguments: [SharedMemory.Writers.everyProcess, .creator])
  func `what the creator writes is read by another process's mapping`(
    writers: SharedMemory.Writers
  ) throws {
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
