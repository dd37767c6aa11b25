import Glibc

/// A few 64-bit words in memory shared between processes, read and written atomically.
package final class SharedWords: Sendable {
  package let count: Int
  private let memory: SharedMemory

  /// Creates words of value 0.
  package init(count: Int) throws(SystemError) {
    precondition(count > 0, "no words to share")
    memory = try SharedMemory(byteCount: Self.byteCount(count), writers: .everyProcess)
    self.count = count
  }

  /// Maps words that another process created.
  ///
  /// - Throws: EINVAL if the file has fewer than `count` words.
  package init(adopting descriptor: consuming OwnedDescriptor, count: Int) throws(SystemError) {
    precondition(count > 0, "no words to share")
    let memory = try SharedMemory(mapping: PassedFile(adopting: descriptor), isWritable: true)
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

  /// The address of a word, for code that must not use the Swift runtime.
  package func address(of index: Int) -> UInt {
    precondition((0..<count).contains(index), "no word \(index)")
    return memory.address(ofWord: index)
  }

  private static func byteCount(_ count: Int) -> Int {
    count * MemoryLayout<UInt64>.stride
  }
}
