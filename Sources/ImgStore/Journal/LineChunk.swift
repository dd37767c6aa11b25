/// Up to 256 neighbouring lines of a list in one record, so that a list of millions is written and
/// read in pages rather than in crumbs.
///
/// Each line is its length in 2 bytes, little-endian, and its bytes; chunks therefore grow by
/// appending. Lines come back byte for byte.
enum LineChunk {
  /// The first index of a chunk is a multiple of it.
  static let lineCount = 256

  /// The longest line: any URL that can be fetched, and room for what else stands on its line.
  static let maximumLineByteCount = 8_300

  /// The first index of the chunk that holds the line.
  static func start(of index: Int) -> Int {
    index / lineCount * lineCount
  }

  /// - Throws: `MDB_BAD_VALSIZE` for a line that is too long.
  static func append(_ line: String, to chunk: inout [UInt8]) throws(StoreError) {
    let byteCount = line.utf8.count
    guard byteCount <= maximumLineByteCount else {
      throw StoreError(.badValueSize, operation: "appending a line of \(byteCount) bytes")
    }
    chunk.append(littleEndian: UInt16(byteCount))
    chunk.append(contentsOf: line.utf8)
  }

  /// - Throws: ``StoreError/Reason/damaged`` when the lengths make no sense.
  static func lines(in chunk: Span<UInt8>) throws(StoreError) -> [String] {
    var lines: [String] = []
    var offset = 0
    while offset < chunk.count {
      let start = offset + MemoryLayout<UInt16>.size
      guard start <= chunk.count else { throw damaged }
      let end = start + Int(chunk.littleEndian(at: offset, as: UInt16.self))
      guard end <= chunk.count else { throw damaged }
      lines.append(chunk.text(in: start..<end))
      offset = end
    }
    return lines
  }

  /// One line, without taking the others out; `nil` behind the last.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` when the lengths make no sense.
  static func line(_ number: Int, in chunk: Span<UInt8>) throws(StoreError) -> String? {
    var offset = 0
    var passedCount = 0
    while offset < chunk.count {
      let start = offset + MemoryLayout<UInt16>.size
      guard start <= chunk.count else { throw damaged }
      let end = start + Int(chunk.littleEndian(at: offset, as: UInt16.self))
      guard end <= chunk.count else { throw damaged }
      if passedCount == number { return chunk.text(in: start..<end) }
      passedCount += 1
      offset = end
    }
    return nil
  }

  private static var damaged: StoreError {
    StoreError(.corrupted, operation: "reading lines of a list")
  }
}
