import ImgModel

/// The layout of a thumbnail in the table `thumbnails`: a header, the URL, the header fields for
/// reuse, and the encoded picture.
///
/// Integers are unsigned and little-endian unless marked; times are signed milliseconds since 1970.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | XXH3-64 of everything behind it |
/// | 8 | 2 | version of this layout: 7; 1 and 2 had no lifetime, 3 no terms of reuse, 4 no mark of damage, 5 no ThumbHash, 6 no chunks |
/// | 10 | 1 | format of the thumbnail, see `ImageFormat.storedNumber` |
/// | 11 | 1 | format of the source |
/// | 12 | 4 | bytes of URL, U |
/// | 16 | 8 | bytes of encoded picture, P |
/// | 24 | 4 | width of the thumbnail |
/// | 28 | 4 | height of the thumbnail |
/// | 32 | 4 | width of the source |
/// | 36 | 4 | height of the source |
/// | 40 | 8 | bytes of the source (signed) |
/// | 48 | 8 | stored at (signed) |
/// | 56 | 8 | expires at (signed) |
/// | 64 | 8 | lifetime in milliseconds (signed); 0 if accesses do not change the expiry |
/// | 72 | 8 | fresh until (signed) |
/// | 80 | 8 | stale-while-revalidate until (signed) |
/// | 88 | 8 | stale-if-error until (signed) |
/// | 96 | 4 | bytes of header fields, F |
/// | 100 | 1 | the sum of 1 if the picture is damaged, see `Thumbnail.isDamaged`, of 2 or 4 if its decode path was `planar` or `embedded`, of 8 if the encoded picture is in chunks, and of 16 if it is an original that was not decoded |
/// | 101 | 1 | bytes of ThumbHash, H; 0 for a record that is no thumbnail |
/// | 102 | 25 | ThumbHash, and zeros |
/// | 127 | U | URL, UTF-8 |
/// | 127 + U | F | header fields, see `ReuseTerms.fields` |
/// | 127 + U + F | P, or 8 | encoded picture, or the number of its chunks, see ``ChunkedContent`` |
///
/// See ``RecordChecksum`` for the checksum.
enum ThumbnailRecord {
  static let headerByteCount = 102 + ThumbHash.maximumByteCount
  /// The offset of the expiry and the lifetime, which can change in a stored record.
  private static let expiryOffset = 56
  private static let termsOffset = 72
  private static let flagsOffset = 100
  private static let hashOffset = 101
  private static let damageFlag: UInt8 = 1
  private static let planarFlag: UInt8 = 2
  private static let embeddedFlag: UInt8 = 4
  private static let chunkedFlag: UInt8 = 8
  private static let undecodedFlag: UInt8 = 16
  private static let numberByteCount = 8
  private static let version: UInt16 = 7

  static func byteCount(of thumbnail: NewThumbnail) -> Int {
    headerByteCount + thumbnail.url.utf8.count + thumbnail.terms.fields.utf8.count
      + storedByteCount(of: thumbnail.content)
  }

  /// What a content takes of its record.
  private static func storedByteCount(of content: NewContent) -> Int {
    switch content {
    case .bytes(let bytes): bytes.count
    case .chunks: numberByteCount
    }
  }

  /// Writes the record of a thumbnail.
  ///
  /// - Precondition: the span has ``byteCount(of:)`` bytes.
  static func write(
    _ new: NewThumbnail, storedAt: WallTime, expiresAt: WallTime, lifetime: Duration,
    into record: inout MutableSpan<UInt8>
  ) {
    let (url, fields) = (Array(new.url.utf8), Array(new.terms.fields.utf8))
    record.write(littleEndian: version, at: 8)
    record.write(littleEndian: new.thumbnail.format.storedNumber, at: 10)
    record.write(littleEndian: new.source.format.storedNumber, at: 11)
    record.write(littleEndian: UInt32(url.count), at: 12)
    record.write(littleEndian: UInt64(new.content.byteCount), at: 16)
    record.write(littleEndian: UInt32(clamping: new.thumbnail.width), at: 24)
    record.write(littleEndian: UInt32(clamping: new.thumbnail.height), at: 28)
    record.write(littleEndian: UInt32(clamping: new.source.width), at: 32)
    record.write(littleEndian: UInt32(clamping: new.source.height), at: 36)
    record.write(littleEndian: Int64(new.source.byteCount), at: 40)
    record.write(littleEndian: storedAt.rawValue, at: 48)
    record.write(littleEndian: expiresAt.rawValue, at: expiryOffset)
    record.write(littleEndian: lifetime.milliseconds, at: expiryOffset + 8)
    record.write(littleEndian: new.terms.freshUntil.rawValue, at: termsOffset)
    record.write(littleEndian: new.terms.staleWhileRevalidateUntil.rawValue, at: termsOffset + 8)
    record.write(littleEndian: new.terms.staleIfErrorUntil.rawValue, at: termsOffset + 16)
    record.write(littleEndian: UInt32(fields.count), at: termsOffset + 24)
    var flags = flag(of: new.source.decodePath ?? .general)
    if new.thumbnail.isDamaged { flags |= damageFlag }
    if case .chunks = new.content { flags |= chunkedFlag }
    record.write(littleEndian: flags, at: flagsOffset)
    write(new.source.thumbHash, into: &record)
    record.write(url.span, at: headerByteCount)
    record.write(fields.span, at: headerByteCount + url.count)
    let offset = headerByteCount + url.count + fields.count
    switch new.content {
    case .bytes(let bytes): record.write(bytes.span, at: offset)
    case .chunks(let content): record.write(littleEndian: content.number, at: offset)
    }
    RecordChecksum.write(into: &record)
  }

  /// A copy of an intact record with the expiry and the lifetime of `facts`.
  static func copy(of record: Span<UInt8>, keptAs facts: CacheRecord) -> [UInt8] {
    var copy = record.copy()
    var bytes = copy.mutableSpan
    bytes.write(littleEndian: facts.expiryTime.rawValue, at: expiryOffset)
    bytes.write(littleEndian: facts.lifetime.milliseconds, at: expiryOffset + 8)
    RecordChecksum.write(into: &bytes)
    return copy
  }

  /// The facts of a record that passes every check; `nil` if it is damaged.
  static func verifiedFacts(of record: Span<UInt8>, key: ContentKey) -> CacheRecord? {
    guard let facts = facts(of: record, key: key), RecordChecksum.isRight(of: record) else {
      return nil
    }
    return facts
  }

  /// The facts of a record with a valid header, without checking the rest. Listings use this to
  /// avoid reading the whole store.
  static func facts(of record: Span<UInt8>, key: ContentKey) -> CacheRecord? {
    guard record.count >= headerByteCount, record.littleEndian(at: 8, as: UInt16.self) == version,
      let format = ImageFormat(storedNumber: record[10]),
      let sourceFormat = ImageFormat(storedNumber: record[11]),
      let parts = parts(of: record)
    else { return nil }
    let (url, thumbHash) = (record.text(in: parts.url), thumbHash(in: record))
    let kind = kind(of: key, url: url, thumbHash)
    return CacheRecord(
      id: key, name: url, kind: kind,
      thumbnail: Thumbnail(
        format: format,
        width: Int(record.littleEndian(at: 24, as: UInt32.self)),
        height: Int(record.littleEndian(at: 28, as: UInt32.self)),
        byteCount: parts.pictureByteCount, isDamaged: record[flagsOffset] & damageFlag != 0),
      source: SourcePicture(
        format: sourceFormat,
        width: Int(record.littleEndian(at: 32, as: UInt32.self)),
        height: Int(record.littleEndian(at: 36, as: UInt32.self)),
        byteCount: Int(record.littleEndian(at: 40, as: Int64.self)),
        decodePath: decodePath(of: kind, in: record[flagsOffset]),
        thumbHash: thumbHash),
      storageTime: moment(at: 48, in: record),
      expiryTime: moment(at: expiryOffset, in: record),
      lifetime: .milliseconds(record.littleEndian(at: expiryOffset + 8, as: Int64.self)),
      terms: terms(of: record, fields: parts.fields))
  }

  /// What a record contains, as its key tells. Only thumbnails have a ThumbHash, and nearly all have one,
  /// so that look-ups of them compute no hash.
  private static func kind(
    of key: ContentKey, url: String, _ thumbHash: ThumbHash?
  ) -> CacheRecord.Kind {
    if thumbHash != nil { return .thumbnail }
    if key == ContentKey(originalOfRecord: url) { return .original }
    let isFacts = [PicturePart.facts, .allFacts, .wholeOfAnyFormat].contains {
      key == ContentKey(factsOfRecord: url, $0)
    }
    return isFacts ? .facts : .thumbnail
  }

  private static func write(_ hash: ThumbHash?, into record: inout MutableSpan<UInt8>) {
    let bytes = hash?.bytes ?? []
    let zeros = [UInt8](repeating: 0, count: ThumbHash.maximumByteCount - bytes.count)
    record.write(littleEndian: UInt8(bytes.count), at: hashOffset)
    record.write((bytes + zeros).span, at: hashOffset + 1)
  }

  private static func thumbHash(in record: Span<UInt8>) -> ThumbHash? {
    let count = min(Int(record[hashOffset]), ThumbHash.maximumByteCount)
    return ThumbHash(bytes: record.extracting(hashOffset + 1..<hashOffset + 1 + count).copy())
  }

  private static func flag(of path: DecodePath) -> UInt8 {
    switch path {
    case .general: 0
    case .planar: planarFlag
    case .embedded: embeddedFlag
    case .undecoded: undecodedFlag
    }
  }

  /// - Returns: `nil` for facts, and for an original that was decoded.
  private static func decodePath(of kind: CacheRecord.Kind, in flags: UInt8) -> DecodePath? {
    let path = DecodePath.allCases.first { flag(of: $0) != 0 && flags & flag(of: $0) != 0 }
    return switch kind {
    case .thumbnail: path ?? .general
    case .original: path == .undecoded ? path : nil
    case .facts: nil
    }
  }

  private static func terms(of record: Span<UInt8>, fields: Range<Int>) -> ReuseTerms {
    ReuseTerms(
      freshUntil: moment(at: termsOffset, in: record),
      staleWhileRevalidateUntil: moment(at: termsOffset + 8, in: record),
      staleIfErrorUntil: moment(at: termsOffset + 16, in: record),
      fields: record.text(in: fields))
  }

  /// The expiry in a record, damaged or not; `nil` if it is too short.
  static func expiresAt(of record: Span<UInt8>) -> WallTime? {
    guard record.count >= headerByteCount else { return nil }
    return moment(at: expiryOffset, in: record)
  }

  private static func moment(at offset: Int, in record: Span<UInt8>) -> WallTime {
    WallTime(rawValue: record.littleEndian(at: offset, as: Int64.self))
  }

  /// The ranges of the parts behind the header.
  private typealias Parts = (url: Range<Int>, fields: Range<Int>, pictureByteCount: Int)

  private static func parts(of record: Span<UInt8>) -> Parts? {
    let fieldsStart = headerByteCount + Int(record.littleEndian(at: 12, as: UInt32.self))
    let start = fieldsStart + Int(record.littleEndian(at: termsOffset + 24, as: UInt32.self))
    guard start <= record.count,
      let byteCount = Int(exactly: record.littleEndian(at: 16, as: UInt64.self)),
      record.count - start == (isChunked(record) ? numberByteCount : byteCount)
    else { return nil }
    return (headerByteCount..<fieldsStart, fieldsStart..<start, byteCount)
  }

  private static func isChunked(_ record: Span<UInt8>) -> Bool {
    record[flagsOffset] & chunkedFlag != 0
  }

  /// Where the picture of a record is, if it is not in the record; `nil` also for a damaged header.
  static func chunkedContent(of record: Span<UInt8>) -> ChunkedContent? {
    guard record.count >= headerByteCount, isChunked(record), let parts = parts(of: record) else {
      return nil
    }
    return ChunkedContent(
      number: record.littleEndian(at: record.count - numberByteCount, as: UInt64.self),
      byteCount: parts.pictureByteCount)
  }
}

/// An entry of the table `arrivals`, which orders the records by arrival or by their last second
/// chance. Every record has exactly one.
///
/// | | bytes | field |
/// |---|---|---|
/// | key | 8 | sequence number, big-endian: byte-wise order is the order of arrival |
/// | value | 32 | content key |
/// | value | 8 | expires at, milliseconds since 1970, little-endian: names the entry in `expiry` |
/// | value | 8 | of a spare or pinned record: what it takes, little-endian |
/// | value | 8 each | of a pinned record: the jobs that pin it, ascending, little-endian |
///
/// Spare originals have the lowest numbers, so that eviction meets them first. Pinned records have the highest, so
/// that eviction never meets them.
struct ArrivalEntry {
  var sequence: UInt64
  let key: ContentKey
  var expiresAt: WallTime
  /// `nil` for a record that may be evicted.
  var pin: Pin?
  /// What the record takes, if it is a spare original, see `StoreReport.footprint(ofRecord:)`.
  var spareByteCount: Int64?

  /// A part of the order.
  enum Place {
    case spare, ordinary, pinned

    var sequences: Range<UInt64> {
      switch self {
      case .spare: 1..<(1 << 62)
      case .ordinary: (1 << 62)..<(1 << 63)
      case .pinned: (1 << 63)..<(.max)
      }
    }
  }

  var place: Place { pin != nil ? .pinned : spareByteCount != nil ? .spare : .ordinary }

  /// Who pins a record.
  struct Pin {
    /// What the record takes, see `StoreReport.footprint(ofRecord:)`.
    let byteCount: Int64
    /// Not empty, in ascending order.
    let jobs: [JobID]
  }

  static let firstPinnedSequence = Place.pinned.sequences.lowerBound
  private static let valueByteCount = ContentKey.byteCount + 8
  private static let pinOffset = valueByteCount + 8
}

extension ArrivalEntry {
  /// `nil` for an invalid entry.
  init?(key encodedKey: Span<UInt8>, value: Span<UInt8>) {
    guard value.count >= Self.valueByteCount, let sequence = Self.sequence(of: encodedKey) else {
      return nil
    }
    self.sequence = sequence
    key = ContentKey(value.extracting(first: ContentKey.byteCount))
    expiresAt = WallTime(rawValue: value.littleEndian(at: ContentKey.byteCount, as: Int64.self))
    guard sequence >= Self.firstPinnedSequence else {
      let isSpare = Place.spare.sequences.contains(sequence)
      guard value.count == (isSpare ? Self.pinOffset : Self.valueByteCount) else { return nil }
      spareByteCount = isSpare ? value.littleEndian(at: Self.valueByteCount, as: Int64.self) : nil
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
    if let spareByteCount { value.append(littleEndian: spareByteCount) }
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
}

extension ExpiryEntry {
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
