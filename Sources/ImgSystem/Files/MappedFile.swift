import CLinux
import Glibc

/// A file of fixed size, mapped shared: words and bytes that every process which maps it reads and
/// writes whole.
///
/// Only a file that has its size is mapped, because to touch what lies behind the end of a file is
/// the death of the process by SIGBUS. Whoever shortens it later has the same effect, so it belongs
/// in a directory that nobody else may write.
///
/// Sendable without further ado: the mapping is kept as a number and lives as long as this object,
/// and it is only reached by lock-free atomic operations, which any number of threads may make.
package final class MappedFile: Sendable {
  package let byteCount: Int
  private let address: UInt

  /// Maps the file at `path`, for reading and writing.
  ///
  /// - Throws: EINVAL when it is no regular file of exactly `byteCount` bytes, EACCES or EROFS when
  ///   it may not be written, ENOENT when there is none.
  package convenience init(path: String, byteCount: Int) throws(SystemError) {
    try self.init(path: path) { $0 == byteCount }
  }

  /// The same for a file that may have one of several sizes: `isRight` says whether it has.
  package convenience init(
    path: String, whereByteCount isRight: (Int) -> Bool
  ) throws(SystemError) {
    let file = try FileIO.open(path, O_RDWR | O_NOFOLLOW)
    let byteCount = try FileStatus(of: file.rawValue).byteCount
    guard isRight(byteCount) else { throw SystemError(operation: "map file", code: EINVAL) }
    try self.init(mapping: file, byteCount: byteCount)
  }

  /// Creates the file at `path` in place of any there was, readable by this user alone: zeros, and
  /// what `prepare` writes. Nobody sees it before that.
  ///
  /// All its room is taken at once: to find a disk full on touching a page is SIGBUS, too.
  ///
  /// - Precondition: nobody else creates it at the same time.
  package static func create(
    path: String, byteCount: Int, prepare: (MappedFile) -> Void
  ) throws(SystemError) -> MappedFile {
    let temporary = path + ".tmp"
    // What a process left that was killed here.
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
    precondition(code == 0, "the mapping was removed behind its owner's back")
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

  /// Adds to a word, so that nobody's addition is lost.
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
