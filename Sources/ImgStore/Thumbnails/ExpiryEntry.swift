import ImgModel

/// An entry of the table `expiry`, which orders the records by the time they expire. Every record
/// has exactly one.
///
/// | | bytes | field |
/// |---|---|---|
/// | key | 8 | expires at, milliseconds since 1970 with the sign bit flipped, big-endian: byte-wise order is the order of time |
/// | key | 32 | content key |
/// | value | 8 | stored at, little-endian |
/// | value | 8 | bytes of the encoded picture, little-endian |
/// | value | 8 | sequence number, little-endian: names the entry in `arrivals` |
///
/// The value contains the data for statistics, so that they read this small table instead of every
/// record.
struct ExpiryEntry {
  let expiresAt: WallTime
  let key: ContentKey
  let storedAt: WallTime
  let byteCount: Int64
  let sequence: UInt64

  private static let timeByteCount = 8
  private static let keyByteCount = timeByteCount + ContentKey.byteCount
  private static let valueByteCount = 24

  init(
    expiresAt: WallTime, key: ContentKey, storedAt: WallTime, byteCount: Int64, sequence: UInt64
  ) {
    self.expiresAt = expiresAt
    self.key = key
    self.storedAt = storedAt
    self.byteCount = byteCount
    self.sequence = sequence
  }

  /// `nil` for an invalid entry.
  init?(key encodedKey: Span<UInt8>, value: Span<UInt8>) {
    guard encodedKey.count == Self.keyByteCount, value.count == Self.valueByteCount else {
      return nil
    }
    expiresAt = WallTime(
      rawValue: Int64(
        bitPattern: encodedKey.bigEndian(at: 0, as: UInt64.self) ^ Self.signBit))
    key = ContentKey(encodedKey.extracting(droppingFirst: Self.timeByteCount))
    storedAt = WallTime(rawValue: value.littleEndian(at: 0, as: Int64.self))
    byteCount = value.littleEndian(at: 8, as: Int64.self)
    sequence = value.littleEndian(at: 16, as: UInt64.self)
  }

  var encodedKey: [UInt8] {
    Self.encodedKey(expiresAt: expiresAt, key: key)
  }

  var encodedValue: [UInt8] {
    var value: [UInt8] = []
    value.reserveCapacity(Self.valueByteCount)
    value.append(littleEndian: storedAt.rawValue)
    value.append(littleEndian: byteCount)
    value.append(littleEndian: sequence)
    return value
  }

  /// The same entry with another position in the order of arrival.
  func moved(to sequence: UInt64) -> ExpiryEntry {
    ExpiryEntry(
      expiresAt: expiresAt, key: key, storedAt: storedAt, byteCount: byteCount, sequence: sequence)
  }

  /// The same entry with another expiry.
  func expiring(at moment: WallTime) -> ExpiryEntry {
    ExpiryEntry(
      expiresAt: moment, key: key, storedAt: storedAt, byteCount: byteCount, sequence: sequence)
  }

  static func encodedKey(expiresAt: WallTime, key: ContentKey) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(keyByteCount)
    bytes.append(bigEndian: UInt64(bitPattern: expiresAt.rawValue) ^ signBit)
    key.withBytes { bytes.append(copying: $0) }
    return bytes
  }

  private static let signBit: UInt64 = 1 << 63
}
