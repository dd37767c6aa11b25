@_spi(Coding) import ImgModel

/// Up to 256 consecutive lines of a list in one record, so that long lists are written and read
/// efficiently.
///
/// Behind the head of every record, see ``JournalRecord``, each line is its length in 2 bytes,
/// little-endian, and its bytes. So chunks grow by appending. Lines are preserved byte for byte.
///
/// A line whose place does not follow from that of the line before has a mark before it: 2 bytes FF, the
/// position of the list and 1 in 4 bytes, or 0 for the only one, and the number in the list in 8 bytes, or 0 for a
/// line in no list, both little-endian. Chunks of earlier releases have the layout `lines` and no marks.
enum LineChunk {
  /// No line is as long.
  private static let placeMark = UInt16.max
  static let markByteCount = 14

  /// The first index of a chunk is a multiple of it.
  static let lineCount = 256

  /// The maximum length of a line: any valid URL, and the rest of its line.
  static let maximumLineByteCount = ImageURL.maximumLineByteCount + 108

  /// The first index of the line's chunk.
  static func start(of index: Int) -> Int {
    index / lineCount * lineCount
  }

  /// The record of lines in the format of `append`.
  static func encode(_ lines: [UInt8], for key: [UInt8]) -> [UInt8] {
    JournalRecord.encode([JournalRecord.Layout.placedLines.rawValue] + lines, for: key)
  }

  /// The lines of a record in the format of ``append(_:of:to:)``.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` if the record is damaged.
  static func content(
    of record: Span<UInt8>, for key: Span<UInt8>
  ) throws(StoreError) -> [UInt8] {
    try verify(record, for: key)
    return record.extracting(droppingFirst: JournalRecord.headByteCount).copy()
  }

  private static func verify(_ record: Span<UInt8>, for key: Span<UInt8>) throws(StoreError) {
    switch JournalRecord.layout(of: record, for: key) {
    case .lines, .placedLines: return
    default: throw damaged
    }
  }

  /// - Throws: `MDB_BAD_VALSIZE` for a line that is too long.
  static func append(
    _ range: Range<Int>, of lines: ListLines, to chunk: inout [UInt8]
  ) throws(StoreError) {
    let starts = Set(lines.starts.map(\.offset))
    for offset in range {
      if offset == range.lowerBound || starts.contains(offset) {
        append(lines.place(of: offset), to: &chunk)
      }
      try append(lines.texts[offset], to: &chunk)
    }
  }

  private static func append(_ place: LinePlace?, to chunk: inout [UInt8]) {
    chunk.append(littleEndian: placeMark)
    chunk.append(littleEndian: UInt32(place?.list.map { $0 + 1 } ?? 0))
    chunk.append(littleEndian: UInt64(place?.line ?? 0))
  }

  private static func append(_ line: String, to chunk: inout [UInt8]) throws(StoreError) {
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
  ) throws(StoreError) -> [ListLine] {
    try verify(record, for: key)
    var lines: [ListLine] = []
    var position = Position()
    while let range = try position.next(in: record) {
      lines.append(ListLine(record.text(in: range), at: position.place))
    }
    return lines
  }

  /// The text of one line, without decoding the others; `nil` behind the last.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` if the record is damaged.
  static func line(
    _ number: Int, in record: Span<UInt8>, for key: Span<UInt8>
  ) throws(StoreError) -> String? {
    try verify(record, for: key)
    var position = Position()
    var passedCount = 0
    while let range = try position.next(in: record) {
      if passedCount == number { return record.text(in: range) }
      passedCount += 1
    }
    return nil
  }

  /// A walk through the lines of a record.
  private struct Position {
    private var offset = JournalRecord.headByteCount
    /// That of the last line.
    private(set) var place: LinePlace?

    /// The range of the next line; `nil` behind the last.
    mutating func next(in record: Span<UInt8>) throws(StoreError) -> Range<Int>? {
      guard offset < record.count else { return nil }
      place = place?.advanced(by: 1)
      var byteCount = try length(in: record)
      if byteCount == placeMark {
        place = try mark(in: record)
        offset += markByteCount
        byteCount = try length(in: record)
      }
      let start = offset + MemoryLayout<UInt16>.size
      guard start + Int(byteCount) <= record.count else { throw damaged }
      offset = start + Int(byteCount)
      return start..<offset
    }

    private func length(in record: Span<UInt8>) throws(StoreError) -> UInt16 {
      guard offset + MemoryLayout<UInt16>.size <= record.count else { throw damaged }
      return record.littleEndian(at: offset, as: UInt16.self)
    }

    private func mark(in record: Span<UInt8>) throws(StoreError) -> LinePlace? {
      guard offset + markByteCount <= record.count else { throw damaged }
      let list = Int(record.littleEndian(at: offset + 2, as: UInt32.self))
      let line = record.littleEndian(at: offset + 6, as: UInt64.self)
      if list == 0, line == 0 { return nil }
      guard list <= LinePlace.maximumListCount, (1..<1 << 62).contains(line) else { throw damaged }
      return LinePlace(line: Int(line), list: list == 0 ? nil : list - 1)
    }
  }

  private static var damaged: StoreError {
    StoreError(.corrupted, operation: "reading lines of a list")
  }
}

/// What consecutive lines have in columns, in one record: those of a part of the list as it was submitted.
///
/// Its key is that of a line behind all lines, in their table: the removal of a job takes both. Behind the head, see
/// ``JournalRecord``, each line has the length of its JSON in 4 bytes, little-endian, and the JSON, see `LineColumns`.
enum ColumnRun {
  /// No job has as many lines.
  private static let firstIndex = 1 << 62

  static func key(_ id: JobID, index: Int) -> [UInt8] {
    JournalKey.line(id, index: firstIndex + index)
  }

  /// The index of the first line of a record; `nil` for the key of another job, or of lines.
  static func start(in key: Span<UInt8>, of id: JobID) -> Int? {
    guard let index = try? JournalKey.index(in: key, of: id), index >= firstIndex else {
      return nil
    }
    return index - firstIndex
  }

  static func encode(_ columns: [LineColumns], for key: [UInt8]) -> [UInt8] {
    var body = [JournalRecord.Layout.columns.rawValue]
    for line in columns {
      body.append(littleEndian: UInt32(line.json.utf8.count))
      body.append(contentsOf: line.json.utf8)
    }
    return JournalRecord.encode(body, for: key)
  }

  /// - Returns: `nil` if the record is damaged.
  static func columns(in record: Span<UInt8>, for key: Span<UInt8>) -> [LineColumns]? {
    guard JournalRecord.layout(of: record, for: key) == .columns else { return nil }
    var columns: [LineColumns] = []
    var offset = JournalRecord.headByteCount
    while offset + MemoryLayout<UInt32>.size <= record.count {
      let start = offset + MemoryLayout<UInt32>.size
      let end = start + Int(record.littleEndian(at: offset, as: UInt32.self))
      guard end <= record.count, let line = try? LineColumns(coded: record.text(in: start..<end))
      else { return nil }
      columns.append(line)
      offset = end
    }
    return columns
  }
}

/// The last chunk that was read, because lines are mostly read in order.
struct CurrentChunk {
  private let job: JobID
  private let hasColumns: Bool
  private var start = -1
  /// Empty if the chunk is damaged.
  private var lines: [ListLine] = []
  /// The columns that were read last, of the lines from an index on; none if they are damaged.
  private var columns: (start: Int, lines: [LineColumns]) = (0, [])

  /// - Parameter includesColumns: whether lines come with what they have in columns.
  init(_ job: JobRecord, includesColumns: Bool = false) {
    self.job = job.id
    hasColumns = includesColumns && !job.columns.isEmpty
  }

  /// `nil` if the list is damaged.
  mutating func line(
    _ index: Int, in tables: JournalTables, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ListLine? {
    let wanted = LineChunk.start(of: index)
    if wanted != start {
      lines = try tables.chunk(of: job, from: wanted, transaction) ?? []
      start = wanted
    }
    guard index - start < lines.count else { return nil }
    let line = lines[index - start]
    guard hasColumns else { return line }
    let columns = try columns(of: index, in: tables, transaction)
    return ListLine(line.text, at: line.place, columns: columns)
  }

  private mutating func columns(
    of index: Int, in tables: JournalTables, _ transaction: borrowing Transaction
  ) throws(StoreError) -> LineColumns {
    if !columns.lines.indices.contains(index - columns.start) {
      columns = try tables.columns(of: job, around: index, transaction)
    }
    let offset = index - columns.start
    return columns.lines.indices.contains(offset) ? columns.lines[offset] : .none
  }
}
