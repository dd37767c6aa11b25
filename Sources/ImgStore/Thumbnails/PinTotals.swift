import ImgModel

/// An entry of the table `pins`: how many records a job pins, or all jobs together.
///
/// | | bytes | field |
/// |---|---|---|
/// | key | 8 | job, big-endian; 0 for the records that any job pins |
/// | value | 8 | records, little-endian |
/// | value | 8 | what they take, see `StoreReport.footprint(ofRecord:)`, little-endian |
package struct PinTotals: Hashable, Sendable {
  package var recordCount = 0
  package var byteCount: Int64 = 0

  static let keyOfAll = key(of: JobID(rawValue: 0))

  static func key(of job: JobID) -> [UInt8] {
    var key: [UInt8] = []
    key.append(bigEndian: job.rawValue)
    return key
  }

  init() {}

  /// An invalid entry counts as none: the next removal of all pins of the job removes it.
  init(_ value: Span<UInt8>) {
    guard value.count == 16 else { return }
    recordCount = Int(clamping: value.littleEndian(at: 0, as: Int64.self))
    byteCount = value.littleEndian(at: 8, as: Int64.self)
  }

  var encodedValue: [UInt8] {
    var value: [UInt8] = []
    value.append(littleEndian: Int64(recordCount))
    value.append(littleEndian: byteCount)
    return value
  }
}
