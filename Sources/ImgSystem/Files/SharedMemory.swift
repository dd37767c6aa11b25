import CLinux
import Glibc

/// A file of fixed size, mapped shared. All processes that map it read and write its words and
/// bytes atomically.
///
/// Only a file of the right size is mapped, because an access behind the end of a file ends the
/// process by SIGBUS. Truncating the file later has the same effect, so it belongs in a directory
/// that no other user may write.
///
/// Sendable is safe: the mapping is stored as a number and lives as long as this object, and all
/// accesses are lock-free atomic operations.
package final class MappedFile: Sendable {
  package let byteCount: Int
  private let address: UInt

  /// Maps the file at `path`, for reading and writing.
  ///
  /// - Throws: EINVAL if it is not a regular file of exactly `byteCount` bytes, EACCES or EROFS if
  ///   it is not writable, ENOENT if it is missing.
  package convenience init(path: String, byteCount: Int) throws(SystemError) {
    try self.init(path: path) { $0 == byteCount }
  }

  /// Maps a file that may have one of several sizes, which `isRight` accepts.
  package convenience init(
    path: String, whereByteCount isRight: (Int) -> Bool
  ) throws(SystemError) {
    let file = try FileIO.open(path, O_RDWR | O_NOFOLLOW)
    let byteCount = try FileStatus(of: file.rawValue).byteCount
    guard isRight(byteCount) else { throw SystemError(operation: "map file", code: EINVAL) }
    try self.init(mapping: file, byteCount: byteCount)
  }

  /// Creates or replaces the file at `path`, readable only by this user. It contains zeros and what
  /// `prepare` writes. Other processes see it only afterwards.
  ///
  /// Allocates all disk space at once, because an access to a page without disk space ends the
  /// process by SIGBUS.
  ///
  /// - Precondition: no other thread or process creates it at the same time.
  package static func create(
    path: String, byteCount: Int, prepare: (MappedFile) -> Void
  ) throws(SystemError) -> MappedFile {
    let temporary = path + ".tmp"
    // A process may have been killed here before.
    unsafe unlink(temporary)
    let file = try FileIO.open(temporary, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
    do throws(SystemError) {
      try FileIO.allocate(0..<byteCount, of: file.rawValue)
      let mapped = try MappedFile(mapping: file, byteCount: byteCount)
      prepare(mapped)
      _ = try pathCall("rename to", path) { unsafe rename(temporary, path) }
      return mapped
    } catch {
      unsafe unlink(temporary)
      throw error
    }
  }

  private init(
    mapping file: borrowing OwnedDescriptor, byteCount: Int
  ) throws(SystemError) {
    precondition(byteCount > 0, "nothing to map")
    let status = try FileStatus(of: file.rawValue)
    guard status.isRegularFile, status.byteCount == byteCount else {
      throw SystemError(operation: "map file", code: EINVAL)
    }
    // The mapping outlives the descriptor (mmap(2)).
    let address = img_map_shared(file.rawValue, byteCount)
    guard address != 0 else { throw .last("mmap") }
    self.address = address
    self.byteCount = byteCount
  }

  deinit {
    let code = img_unmap(address, byteCount)
    precondition(code == 0, "other code has removed the mapping")
  }

  // MARK: - Words of 64 bits, at multiples of their size

  package func word(_ index: Int) -> UInt64 {
    checkWord(index)
    return img_word_load(address, index)
  }

  package func setWord(_ index: Int, to value: UInt64) {
    checkWord(index)
    img_word_store(address, index, value)
  }

  /// Adds to a word atomically.
  package func add(_ amount: UInt64, toWord index: Int) {
    checkWord(index)
    img_word_add(address, index, amount)
  }

  // MARK: - Bytes

  package func byte(_ index: Int) -> UInt8 {
    checkByte(index)
    return img_byte_load(address, index)
  }

  package func setByte(_ index: Int, to value: UInt8) {
    checkByte(index)
    img_byte_store(address, index, value)
  }

  private func checkWord(_ index: Int) {
    precondition(
      index >= 0 && index < byteCount / MemoryLayout<UInt64>.stride, "no word \(index)")
  }

  private func checkByte(_ index: Int) {
    precondition(index >= 0 && index < byteCount, "no byte \(index)")
  }
}

/// Immutable bytes in an anonymous memory file (memfd_create(2), and "File Sealing" in fcntl(2)).
/// They reach another process as a descriptor, without a copy.
///
/// ``contents(byteCount:)`` validates a file from another process.
package struct MemoryFile: Sendable {
  /// The open file, to pass to another process.
  package let file: PassedFile

  /// Makes a file of these bytes and seals it.
  ///
  /// - Throws: EFBIG beyond RLIMIT_FSIZE, which also limits memory files; ENOSPC or ENOMEM without
  ///   memory; EMFILE or ENFILE if no more files may be opened.
  package init(containing bytes: [UInt8]) throws(SystemError) {
    file = PassedFile(
      adopting: OwnedDescriptor(
        adopting: try systemCall("memfd_create") { unsafe img_memory_file("imgctl-bytes") }))
    try FileIO.writeAll(file.descriptor, bytes)
    _ = try systemCall("fcntl F_ADD_SEALS") { img_seal_contents(file.descriptor) }
  }

  /// A file from another process, without checks.
  package init(_ file: PassedFile) {
    self.file = file
  }

  /// The bytes of the file.
  ///
  /// - Parameter byteCount: the announced size.
  /// - Throws: EINVAL if the size differs or it is not a memory file, EPERM if another process
  ///   could change the file during the read.
  package func contents(byteCount: Int) throws(SystemError) -> [UInt8] {
    try verify(byteCount: byteCount)
    return try FileIO.contents(of: file.descriptor, first: byteCount)
  }

  /// Checks that no process can change the file.
  ///
  /// - Parameter byteCount: the announced size.
  /// - Throws: as ``contents(byteCount:)`` does.
  package func verify(byteCount: Int) throws(SystemError) {
    let isSealed = try systemCall("fcntl F_GET_SEALS") { img_has_sealed_contents(file.descriptor) }
    guard isSealed == 1 else { throw SystemError(operation: "read an unsealed file", code: EPERM) }
    guard try FileStatus(of: file.descriptor).byteCount == byteCount else {
      throw SystemError(operation: "read a file of another size", code: EINVAL)
    }
  }
}

/// Memory of a fixed size that processes share, in an anonymous file (memfd_create(2)).
///
/// The file cannot change its size, so no peer can make an access fault. Where a peer may write, it
/// may do so at any time: copy first, and check the copy.
///
/// Sendable is safe: the mapping is stored as a number and lives as long as this object. Words are
/// accessed by lock-free atomic operations. Threads agree on who accesses bytes when.
package final class SharedMemory: Sendable {
  /// Who may write to new memory.
  package enum Writers: Sendable {
    case everyProcess
    /// The process that creates it, while this object lives (F_SEAL_FUTURE_WRITE).
    case creator
  }

  package let byteCount: Int
  /// The open file, for the process that shares the memory.
  package let file: PassedFile
  private let address: UInt

  /// Creates memory of zeros. A page takes up memory once it is written.
  package init(byteCount: Int, writers: Writers) throws(SystemError) {
    precondition(byteCount > 0, "no memory to share")
    let file = PassedFile(
      adopting: OwnedDescriptor(
        adopting: try systemCall("memfd_create") { unsafe img_memory_file("imgctl-memory") }))
    _ = try systemCall("ftruncate") { ftruncate(file.descriptor, off_t(byteCount)) }
    let address = img_map_shared(file.descriptor, byteCount)
    guard address != 0 else { throw .last("mmap") }
    self.address = address
    self.file = file
    self.byteCount = byteCount
    _ = try systemCall("fcntl F_ADD_SEALS") { img_seal_size(file.descriptor, writers == .creator) }
  }

  /// Maps memory that another process created.
  ///
  /// - Parameter isWritable: `false` for memory that only its creator may write. Then a write here
  ///   ends this process by SIGSEGV.
  /// - Throws: EPERM if only the creator may write, EINVAL if the file is empty.
  package init(mapping file: PassedFile, isWritable: Bool) throws(SystemError) {
    let byteCount = try FileStatus(of: file.descriptor).byteCount
    guard byteCount > 0 else { throw SystemError(operation: "map shared memory", code: EINVAL) }
    let address =
      isWritable
      ? img_map_shared(file.descriptor, byteCount) : img_map_readable(file.descriptor, byteCount)
    guard address != 0 else { throw .last("mmap") }
    self.address = address
    self.file = file
    self.byteCount = byteCount
  }

  deinit {
    let code = img_unmap(address, byteCount)
    precondition(code == 0, "other code has removed the mapping")
  }

  // MARK: - Words of 64 bits, at multiples of their size

  /// Loads acquire and stores release (atomic_thread_fence, C11 7.17.3), so a reader of a value sees
  /// what its writer did before.
  package func word(_ index: Int) -> UInt64 {
    checkWord(index)
    return img_word_load(address, index)
  }

  package func setWord(_ index: Int, to value: UInt64) {
    checkWord(index)
    img_word_store(address, index, value)
  }

  /// Stores a word if no other process or thread has changed it.
  ///
  /// - Returns: whether it had the value `expected`.
  package func replaceWord(_ index: Int, expecting expected: UInt64, by value: UInt64) -> Bool {
    checkWord(index)
    return img_word_replace(address, index, expected, value)
  }

  /// The address of a word, for code that must not use the Swift runtime.
  package func address(ofWord index: Int) -> UInt {
    checkWord(index)
    return address + UInt(index * MemoryLayout<UInt64>.stride)
  }

  // MARK: - Bytes

  package func write(_ bytes: borrowing Span<UInt8>, at offset: Int) {
    checkRange(offset..<(offset + bytes.count))
    guard let start = unsafe pointer(to: offset) else { return }
    unsafe bytes.withUnsafeBytes {
      unsafe start.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(start), byteCount: $0.count)
    }
  }

  /// Writes a part of a long content. As ``read(from:upTo:)`` does, this process keeps only the first part
  /// mapped.
  package func write(part bytes: borrowing Span<UInt8>, at offset: Int) {
    write(bytes, at: offset)
    // Pages that stay mapped do no more than count as memory.
    if offset > 0 { try? unmapPages(from: offset, bytes.count) }
  }

  package func clear(in range: Range<Int>) {
    checkRange(range)
    guard let start = unsafe pointer(to: range.lowerBound) else { return }
    unsafe start.initializeMemory(as: UInt8.self, repeating: 0, count: range.count)
  }

  /// Bytes that ``read(from:upTo:)`` reads at once.
  private static let chunkByteCount = 1 << 20

  /// Reads an open file from its start, wherever its position is, to the start of the memory. Of a
  /// large file, this process keeps only the first mebibyte mapped, so that it does not count as
  /// memory of this process.
  ///
  /// - Returns: the number of bytes, at most `maximumByteCount`; fewer where the file ends.
  package func read(
    from descriptor: CInt, upTo maximumByteCount: Int
  ) throws(SystemError) -> Int {
    checkRange(0..<maximumByteCount)
    var byteCount = 0
    while byteCount < maximumByteCount {
      let count = try systemCall("pread") { [address] in
        unsafe pread(
          descriptor, UnsafeMutableRawPointer(bitPattern: address + UInt(byteCount)),
          min(maximumByteCount - byteCount, Self.chunkByteCount), off_t(byteCount))
      }
      guard count > 0 else { break }
      if byteCount > 0 { try unmapPages(from: byteCount, count) }
      byteCount += count
    }
    return byteCount
  }

  /// The pages stay in the file, and are mapped again at the next access (madvise(2)).
  private func unmapPages(from offset: Int, _ byteCount: Int) throws(SystemError) {
    let start = offset - offset % ThisProcess.pageByteCount
    _ = try systemCall("madvise") {
      unsafe madvise(pointer(to: start), byteCount + offset - start, MADV_DONTNEED)
    }
  }

  /// A copy of the bytes.
  package func bytes(in range: Range<Int>) -> [UInt8] {
    withBytes(in: range) { unsafe $0.withUnsafeBufferPointer { unsafe Array($0) } }
  }

  /// Calls `body` with the bytes in place.
  package func withBytes<Result, Reason: Error>(
    in range: Range<Int>, _ body: (Span<UInt8>) throws(Reason) -> Result
  ) throws(Reason) -> Result {
    checkRange(range)
    let start = unsafe pointer(to: range.lowerBound)?.assumingMemoryBound(to: UInt8.self)
    let buffer = unsafe UnsafeBufferPointer(start: start, count: range.count)
    return try body(unsafe buffer.span)
  }

  /// Gives the memory of all pages from an offset on back to the machine. They are zeros again.
  ///
  /// - Parameter offset: a multiple of the page size.
  /// - Throws: EPERM if only the creator may write.
  package func release(from offset: Int) throws(SystemError) {
    checkRange(offset..<byteCount)
    _ = try systemCall("fallocate") {
      fallocate(
        file.descriptor, CInt(IMG_FALLOC_FL_PUNCH_HOLE | IMG_FALLOC_FL_KEEP_SIZE),
        off_t(offset), off_t(byteCount - offset))
    }
  }

  private func pointer(to offset: Int) -> UnsafeMutableRawPointer? {
    unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(offset))
  }

  private func checkWord(_ index: Int) {
    precondition(
      index >= 0 && index < byteCount / MemoryLayout<UInt64>.stride, "no word \(index)")
  }

  private func checkRange(_ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= byteCount, "no bytes \(range)")
  }
}

/// A few 64-bit words in memory shared between processes, read and written atomically.
package final class SharedWords: Sendable {
  package let count: Int
  private let memory: SharedMemory

  /// Creates words of value 0.
  package init(
    count: Int, writers: SharedMemory.Writers = .everyProcess
  ) throws(SystemError) {
    precondition(count > 0, "no words to share")
    memory = try SharedMemory(byteCount: Self.byteCount(count), writers: writers)
    self.count = count
  }

  /// Maps words that another process created.
  ///
  /// - Parameter isWritable: as of ``SharedMemory/init(mapping:isWritable:)``.
  /// - Throws: EINVAL if the file has fewer than `count` words.
  package init(
    adopting descriptor: consuming OwnedDescriptor, count: Int, isWritable: Bool = true
  ) throws(SystemError) {
    precondition(count > 0, "no words to share")
    let memory = try SharedMemory(
      mapping: PassedFile(adopting: descriptor), isWritable: isWritable)
    guard memory.byteCount >= Self.byteCount(count) else {
      throw SystemError(operation: "map shared words", code: EINVAL)
    }
    self.memory = memory
    self.count = count
  }

  /// The descriptor for the process that shares the words.
  package var descriptor: CInt { memory.file.descriptor }

  package func load(_ index: Int) -> UInt64 {
    precondition((0..<count).contains(index), "no word \(index)")
    return memory.word(index)
  }

  package func store(_ value: UInt64, at index: Int) {
    precondition((0..<count).contains(index), "no word \(index)")
    memory.setWord(index, to: value)
  }

  /// Stores a word if no other process or thread has changed it.
  ///
  /// - Returns: whether it had the value `expected`.
  package func replace(_ expected: UInt64, by value: UInt64, at index: Int) -> Bool {
    precondition((0..<count).contains(index), "no word \(index)")
    return memory.replaceWord(index, expecting: expected, by: value)
  }

  /// The address of a word, for code that must not use the Swift runtime.
  package func address(of index: Int) -> UInt {
    precondition((0..<count).contains(index), "no word \(index)")
    return memory.address(ofWord: index)
  }

  private static func byteCount(_ count: Int) -> Int {
    count * MemoryLayout<UInt64>.stride
  }
}
