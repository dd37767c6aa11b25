/// The head of every record of the journal, so that damage affects only one record:
///
/// | bytes | content |
/// |---|---|
/// | 8 | XXH3-64 of all that follows, seeded with that of the record's key, little-endian |
/// | 1 | the number of its ``Layout`` |
///
/// The checksum includes the key, so a record under another key counts as damaged.
enum JournalRecord {
  /// The kind and layout of a record. The numbers are unique over all tables, so that a record is
  /// recognised anywhere. A new layout takes a new number.
  enum Layout: UInt8 {
    case done = 1
    case failed = 2
    case cancelled = 3
    case lines = 4
    case job = 5
    case lastJob = 6
    case headers = 7
  }

  /// Checksum and layout.
  static let headByteCount = RecordChecksum.byteCount + 1

  /// - Parameter body: the number of the layout and the content.
  static func encode(_ body: [UInt8], for key: [UInt8]) -> [UInt8] {
    var record = [UInt8](repeating: 0, count: RecordChecksum.byteCount)
    record.append(contentsOf: body)
    var bytes = record.mutableSpan
    bytes.write(littleEndian: checksum(of: bytes.span, for: key.span), at: 0)
    return record
  }

  /// The layout of a record; `nil` if the record is damaged or of a newer release.
  static func layout(of record: Span<UInt8>, for key: Span<UInt8>) -> Layout? {
    guard record.count >= headByteCount,
      record.littleEndian(at: 0, as: UInt64.self) == checksum(of: record, for: key)
    else { return nil }
    return Layout(rawValue: record[RecordChecksum.byteCount])
  }

  private static func checksum(of record: Span<UInt8>, for key: Span<UInt8>) -> UInt64 {
    RecordChecksum.of(
      record.extracting(droppingFirst: RecordChecksum.byteCount), seed: RecordChecksum.of(key))
  }
}
