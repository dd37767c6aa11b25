import CLinux
import Glibc

/// A few 64-bit words in memory shared between processes, read and written atomically.
///
/// Loads acquire and stores release (atomic_thread_fence, C11 7.17.3), so a reader of a value sees
/// what its writer did before. The file cannot shrink, so no peer can make an access fault.
///
/// Sendable is safe: the mapping is stored as a number and lives as long as this object, and all
/// accesses are lock-free atomic operations.
package final class SharedWords: Sendable {
  package let count: Int
  private let file: OwnedDescriptor
  private let address: UInt

  /// Creates words of value 0.
  package convenience init(count: Int) throws(SystemError) {
    precondition(count > 0, "no words to share")
    let file = OwnedDescriptor(
      adopting: try systemCall("memfd_create") {
        unsafe img_fixed_memory_file("imgctl-words", off_t(Self.byteCount(count)))
      })
    try self.init(adopting: file, count: count)
  }

  /// Maps words that another process created.
  ///
  /// - Throws: EINVAL if the file has fewer than `count` words.
  package init(adopting descriptor: consuming OwnedDescriptor, count: Int) throws(SystemError) {
    precondition(count > 0, "no words to share")
    guard try FileStatus(of: descriptor.rawValue).byteCount >= Self.byteCount(count) else {
      throw SystemError(operation: "map shared words", code: EINVAL)
    }
    let address = img_map_shared(descriptor.rawValue, Self.byteCount(count))
    guard address != 0 else { throw .last("mmap") }
    self.address = address
    self.count = count
    file = descriptor
  }

  deinit {
    let code = img_unmap(address, Self.byteCount(count))
    precondition(code == 0, "other code has removed the mapping")
  }

  /// The descriptor for the process that shares the words.
  package var descriptor: CInt { file.rawValue }

  package func load(_ index: Int) -> UInt64 {
    precondition((0..<count).contains(index), "no word \(index)")
    return img_word_load(address, index)
  }

  package func store(_ value: UInt64, at index: Int) {
    precondition((0..<count).contains(index), "no word \(index)")
    img_word_store(address, index, value)
  }

  /// The address of a word, for code that must not use the Swift runtime.
  package func address(of index: Int) -> UInt {
    precondition((0..<count).contains(index), "no word \(index)")
    return address + UInt(Self.byteCount(index))
  }

  private static func byteCount(_ count: Int) -> Int {
    count * MemoryLayout<UInt64>.stride
  }
}
