import Glibc
import ImgSystem

/// Reads a list from a file or standard input.
package struct ListFile: ~Copyable {
  private static let chunkByteCount = 64 << 10

  /// Closes a file at the end; `nil` for standard input, which stays open.
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
  /// - Returns: the complete batches, possibly none; `nil` at the end.
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
