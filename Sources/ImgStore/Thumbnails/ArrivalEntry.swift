import ImgModel

/// An entry of the table `arrivals`, which orders the records by arrival or by their last second
/// chance. Every record has exactly one.
///
/// | | bytes | field |
/// |---|---|---|
/// | key | 8 | sequence number, big-endian: byte-wise order is the order of arrival |
/// | value | 32 | content key |
/// | value | 8 | expires at, milliseconds since 1970, little-endian: names the entry in `expiry` |
/// | value | 8 | of a pinned record: what it takes, little-endian |
/// | value | 8 each | of a pinned record: the jobs that pin it, ascending, little-endian |
///
/// Pinned records have the numbers from ``firstPinnedSequence`` on, so that eviction, which goes through the
/// others in their order, never meets them.
struct ArrivalEntry {
  let sequence: UInt64
  let key: ContentKey
  let expiresAt: WallTime
  /// `nil` for a record that may be evicted.
  let pin: Pin?

  /// Who pins a record.
  struct Pin {
    /// What the record takes, see `StoreReport.footprint(ofRecord:)`.
    let byteCount: Int64
    /// Not empty, in ascending order.
    let jobs: [JobID]
  }

  static let firstPinnedSequence: UInt64 = 1 << 63
  private static let valueByteCount = ContentKey.byteCount + 8
  private static let pinOffset = valueByteCount + 8

  init(sequence: UInt64, key: ContentKey, expiresAt: WallTime, pin: Pin? = nil) {
    self.sequence = sequence
    self.key = key
    self.expiresAt = expiresAt
    self.pin = pin
  }

  /// `nil` for an invalid entry.
  init?(key encodedKey: Span<UInt8>, value: Span<UInt8>) {
    guard value.count >= Self.valueByteCount, let sequence = Self.sequence(of: encodedKey) else {
      return nil
    }
    self.sequence = sequence
    key = ContentKey(value.extracting(first: ContentKey.byteCount))
    expiresAt = WallTime(rawValue: value.littleEndian(at: ContentKey.byteCount, as: Int64.self))
    guard sequence >= Self.firstPinnedSequence else {
      guard value.count == Self.valueByteCount else { return nil }
      pin = nil
      return
    }
    guard value.count > Self.pinOffset, value.count % 8 == 0 else { return nil }
    pin = Pin(
      byteCount: value.littleEndian(at: Self.valueByteCount, as: Int64.self),
      jobs: stride(from: Self.pinOffset, to: value.count, by: 8).map {
        JobID(rawValue: value.littleEndian(at: $0, as: UInt64.self))
      })
  }

  var encodedKey: [UInt8] {
    Self.encodedKey(sequence)
  }

  var encodedValue: [UInt8] {
    var value: [UInt8] = []
    value.reserveCapacity(Self.pinOffset + 8)
    key.withBytes { value.append(copying: $0) }
    value.append(littleEndian: expiresAt.rawValue)
    if let pin {
      value.append(littleEndian: pin.byteCount)
      for job in pin.jobs { value.append(littleEndian: job.rawValue) }
    }
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
