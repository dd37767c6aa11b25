import CXXHash

/// The first eight bytes of a record: XXH3-64 of all that is behind them, little-endian.
///
/// It finds what the disk or a stray write has damaged. It is no defence against somebody who may
/// write the files.
enum RecordChecksum {
  static let byteCount = 8

  /// - Precondition: the record begins with as many bytes for it.
  static func write(into record: inout MutableSpan<UInt8>) {
    record.write(
      littleEndian: of(record.span.extracting(droppingFirst: byteCount)), at: 0)
  }

  /// - Precondition: the record begins with as many bytes for it.
  static func write(into record: inout [UInt8]) {
    var bytes = record.mutableSpan
    write(into: &bytes)
  }

  /// - Precondition: the record is at least as long.
  static func isRight(of record: Span<UInt8>) -> Bool {
    record.littleEndian(at: 0, as: UInt64.self) == of(record.extracting(droppingFirst: byteCount))
  }

  static func of(_ bytes: Span<UInt8>) -> UInt64 {
    unsafe bytes.withUnsafeBufferPointer { unsafe img_xxh3_64bits($0.baseAddress, $0.count) }
  }

  /// - Parameter seed: what else has to be the same for the checksum to be.
  static func of(_ bytes: Span<UInt8>, seed: UInt64) -> UInt64 {
    unsafe bytes.withUnsafeBufferPointer {
      unsafe img_xxh3_64bits_seeded($0.baseAddress, $0.count, seed)
    }
  }
}
