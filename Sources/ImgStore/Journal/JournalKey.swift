import ImgModel

/// The keys of the journal: numbers in big-endian order, so that a job's entries are adjacent and
/// in the order of their lines.
enum JournalKey {
  static let jobByteCount = 8
  static let lineByteCount = 16

  static func job(_ id: JobID) -> [UInt8] {
    var key: [UInt8] = []
    key.append(bigEndian: id.rawValue)
    return key
  }

  /// The job of a key.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` for an invalid key.
  static func job(in key: Span<UInt8>) throws(StoreError) -> JobID {
    guard key.count == jobByteCount else {
      throw StoreError(.corrupted, operation: "reading a key of the journal")
    }
    return JobID(rawValue: key.bigEndian(at: 0, as: UInt64.self))
  }

  static func line(_ id: JobID, index: Int) -> [UInt8] {
    var key = job(id)
    key.append(bigEndian: UInt64(index))
    return key
  }

  /// The line of a key of job `id`; `nil` behind the job's last line.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` for an invalid key.
  static func index(
    in key: Span<UInt8>, of id: JobID
  ) throws(StoreError) -> Int? {
    guard key.count == lineByteCount,
      let index = Int(exactly: key.bigEndian(at: 8, as: UInt64.self))
    else { throw StoreError(.corrupted, operation: "reading a key of the journal") }
    return key.bigEndian(at: 0, as: UInt64.self) == id.rawValue ? index : nil
  }
}
