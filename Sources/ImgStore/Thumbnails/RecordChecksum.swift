import CXXHash

/// The first eight bytes of a record: XXH3-64 of all bytes behind them, little-endian.
///
/// It detects damage by the disk or a stray write. It is no defence against an attacker who may
/// write the files.
enum RecordChecksum {
  static let byteCount = 8

  /// - Precondition: the record starts with the bytes for the checksum.
  static func write(into record: inout MutableSpan<UInt8>) {
    record.write(
      littleEndian: of(record.span.extracting(droppingFirst: byteCount)), at: 0)
  }

  /// - Precondition: the record starts with the bytes for the checksum.
  static func write(into record: inout [UInt8]) {
    var bytes = record.mutableSpan
    write(into: &bytes)
  }

  /// - Precondition: the record is at least as long as the checksum.
  static func isRight(of record: Span<UInt8>) -> Bool {
    record.littleEndian(at: 0, as: UInt64.self) == of(record.extracting(droppingFirst: byteCount))
  }

  static func of(_ bytes: Span<UInt8>) -> UInt64 {
    unsafe bytes.withUnsafeBufferPointer { unsafe img_xxh3_64bits($0.baseAddress, $0.count) }
  }

  /// - Parameter seed: other data that the checksum includes.
  static func of(_ bytes: Span<UInt8>, seed: UInt64) -> UInt64 {
    unsafe bytes.withUnsafeBufferPointer {
      unsafe img_xxh3_64bits_seeded($0.baseAddress, $0.count, seed)
    }
  }
}
