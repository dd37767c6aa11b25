import Glibc
import ImgSystem

/// A list being read from a file or from standard input.
package struct ListFile: ~Copyable {
  private static let chunkByteCount = 64 << 10

  /// What closes a file; standard input is not ours to close.
  private let file: OwnedDescriptor?
  private let descriptor: CInt
  private var reader: ListReader
  private var chunk: [UInt8] = []
  private var hasEnded = false

  /// Opens the list.
  /// - Parameter path: `-` for standard input.
  package init(path: String) throws(ListError) {
    if path == "-" {
      file = nil
      descriptor = STDIN_FILENO
      reader = ListReader(name: "standard input")
      return
    }
    do {
      let opened = try FileIO.open(readingFrom: path)
      descriptor = opened.rawValue
      file = consume opened
    } catch {
      throw .unreadable(error)
    }
    reader = ListReader(name: path)
  }

  /// Waits for more of the list.
  ///
  /// - Returns: the batches that came, at times none; `nil` at the end.
  package mutating func next() throws(ListError) -> [[String]]? {
    guard !hasEnded else { return nil }
    chunk.removeAll(keepingCapacity: true)
    do {
      hasEnded = try FileIO.read(descriptor, into: &chunk, upTo: Self.chunkByteCount) == 0
    } catch {
      throw .unreadable(error)
    }
    return hasEnded ? reader.finish() : try reader.feed(chunk)
  }
}
