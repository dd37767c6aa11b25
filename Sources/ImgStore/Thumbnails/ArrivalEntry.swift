import ImgModel

/// An entry of the table `arrivals`, which orders the records by arrival or by their last second
/// chance. Every record has exactly one.
///
/// | | bytes | field |
/// |---|---|---|
/// | key | 8 | sequence number, big-endian: byte-wise order is the order of arrival |
/// | value | 32 | content key |
/// | value | 8 | expires at, milliseconds since 1970, little-endian: names the entry in `expiry` |
struct ArrivalEntry {
  let sequence: UInt64
  let key: ContentKey
  let expiresAt: WallTime

  private static let valueByteCount = ContentKey.byteCount + 8

  init(sequence: UInt64, key: ContentKey, expiresAt: WallTime) {
    self.sequence = sequence
    self.key = key
    self.expiresAt = expiresAt
  }

  /// `nil` for an invalid entry.
  init?(key encodedKey: Span<UInt8>, value: Span<UInt8>) {
    guard value.count == Self.valueByteCount, let sequence = Self.sequence(of: encodedKey) else {
      return nil
    }
    self.sequence = sequence
    key = ContentKey(value.extracting(first: ContentKey.byteCount))
    expiresAt = WallTime(rawValue: value.littleEndian(at: ContentKey.byteCount, as: Int64.self))
  }

  var encodedKey: [UInt8] {
    Self.encodedKey(sequence)
  }

  var encodedValue: [UInt8] {
    var value: [UInt8] = []
    value.reserveCapacity(Self.valueByteCount)
    key.withBytes { value.append(copying: $0) }
    value.append(littleEndian: expiresAt.rawValue)
    return value
  }

  static func encodedKey(_ sequence: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: sequence)
    return bytes
  }

  /// `nil` for an invalid key.
  static func sequence(of encodedKey: Span<UInt8>) -> UInt64? {
    guard encodedKey.count == MemoryLayout<UInt64>.size else { return nil }
    let sequence = encodedKey.bigEndian(at: 0, as: UInt64.self)
    // No store reaches the last number, and no entry could follow it.
    return sequence < .max ? sequence : nil
  }
}
