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
