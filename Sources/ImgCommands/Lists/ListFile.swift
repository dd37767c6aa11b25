/// Reads a list from a file or standard input.
package struct ListFile: ~Copyable {
  private static let chunkByteCount = 64 << 10

  private let file: InputFile
  private var reader: ListReader
  private var chunk: [UInt8] = []
  private var hasEnded = false

  /// Opens the list.
  /// - Parameter path: `-` for standard input.
  package init(path: String) throws(ListError) {
    do {
      file = try InputFile(path: path)
    } catch {
      throw .unreadable(reason: "\(error)")
    }
    reader = ListReader(name: file.name)
  }

  /// Finds out whether the list can be opened, before its turn.
  package static func check(path: String) throws(ListError) {
    do {
      try InputFile.check(path: path)
    } catch {
      throw .unreadable(reason: "\(error)")
    }
  }

  /// Waits for more of the list.
  ///
  /// - Returns: the complete batches, possibly none; `nil` at the end.
  package mutating func next() throws(ListError) -> [[String]]? {
    guard !hasEnded else { return nil }
    chunk.removeAll(keepingCapacity: true)
    do {
      hasEnded = try file.read(into: &chunk, upTo: Self.chunkByteCount) == 0
    } catch {
      throw .unreadable(reason: "\(file.name), line \(reader.line): \(error)")
    }
    return hasEnded ? reader.finish() : try reader.feed(chunk)
  }
}
