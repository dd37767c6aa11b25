/// Up to 256 consecutive lines of a list in one record, so that long lists are written and read
/// efficiently.
///
/// Behind the head of every record, see ``JournalRecord``, each line is its length in 2 bytes,
/// little-endian, and its bytes. So chunks grow by appending. Lines are preserved byte for byte.
enum LineChunk {
  /// The first index of a chunk is a multiple of it.
  static let lineCount = 256

  /// The maximum length of a line: any valid URL, and the rest of its line.
  static let maximumLineByteCount = 8_300

  /// The first index of the line's chunk.
  static func start(of index: Int) -> Int {
    index / lineCount * lineCount
  }

  /// The record of lines in the format of ``append(_:to:)``.
  static func encode(_ lines: [UInt8], for key: [UInt8]) -> [UInt8] {
    JournalRecord.encode([JournalRecord.Layout.lines.rawValue] + lines, for: key)
  }

  /// - Throws: ``StoreError/Reason/damaged`` if the record is damaged.
  static func verify(_ record: Span<UInt8>, for key: Span<UInt8>) throws(StoreError) {
    guard JournalRecord.layout(of: record, for: key) == .lines else { throw damaged }
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

  /// - Throws: ``StoreError/Reason/damaged`` if the record is damaged.
  static func lines(
    in record: Span<UInt8>, for key: Span<UInt8>
  ) throws(StoreError) -> [String] {
    try verify(record, for: key)
    var lines: [String] = []
    var offset = JournalRecord.headByteCount
    while offset < record.count {
      let range = try line(at: offset, of: record)
      lines.append(record.text(in: range))
      offset = range.upperBound
    }
    return lines
  }

  /// One line, without decoding the others; `nil` behind the last.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` if the record is damaged.
  static func line(
    _ number: Int, in record: Span<UInt8>, for key: Span<UInt8>
  ) throws(StoreError) -> String? {
    try verify(record, for: key)
    var offset = JournalRecord.headByteCount
    var passedCount = 0
    while offset < record.count {
      let range = try line(at: offset, of: record)
      if passedCount == number { return record.text(in: range) }
      passedCount += 1
      offset = range.upperBound
    }
    return nil
  }

  /// The range of the line whose length is at `offset`.
  private static func line(
    at offset: Int, of record: Span<UInt8>
  ) throws(StoreError) -> Range<Int> {
    let start = offset + MemoryLayout<UInt16>.size
    guard start <= record.count else { throw damaged }
    let end = start + Int(record.littleEndian(at: offset, as: UInt16.self))
    guard end <= record.count else { throw damaged }
    return start..<end
  }

  private static var damaged: StoreError {
    StoreError(.corrupted, operation: "reading lines of a list")
  }
}
