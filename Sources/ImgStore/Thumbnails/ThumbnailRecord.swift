import ImgModel

/// The layout of a thumbnail in the table `thumbnails`: a header, the URL, the header fields for
/// reuse, and the encoded picture.
///
/// Integers are unsigned and little-endian unless marked; times are signed milliseconds since 1970.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | XXH3-64 of everything behind it |
/// | 8 | 2 | version of this layout: 6; 1 and 2 had no lifetime, 3 no terms of reuse, 4 no mark of damage, 5 no ThumbHash |
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
/// | 100 | 1 | the sum of 1 if the picture is damaged, see `Thumbnail.isDamaged`, and of 2 or 4 if its decode path was `planar` or `embedded` |
/// | 101 | 1 | bytes of ThumbHash, H; 0 for a record that is no thumbnail |
/// | 102 | 25 | ThumbHash, and zeros |
/// | 127 | U | URL, UTF-8 |
/// | 127 + U | F | header fields, see `ReuseTerms.fields` |
/// | 127 + U + F | P | encoded picture |
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
  private static let version: UInt16 = 6

  static func byteCount(of thumbnail: NewThumbnail) -> Int {
    headerByteCount + thumbnail.url.utf8.count + thumbnail.terms.fields.utf8.count
      + thumbnail.bytes.count
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
    record.write(littleEndian: new.sourceFormat.storedNumber, at: 11)
    record.write(littleEndian: UInt32(url.count), at: 12)
    record.write(littleEndian: UInt64(new.bytes.count), at: 16)
    record.write(littleEndian: UInt32(clamping: new.thumbnail.width), at: 24)
    record.write(littleEndian: UInt32(clamping: new.thumbnail.height), at: 28)
    record.write(littleEndian: UInt32(clamping: new.sourceWidth), at: 32)
    record.write(littleEndian: UInt32(clamping: new.sourceHeight), at: 36)
    record.write(littleEndian: new.sourceByteCount, at: 40)
    record.write(littleEndian: storedAt.rawValue, at: 48)
    record.write(littleEndian: expiresAt.rawValue, at: expiryOffset)
    record.write(littleEndian: lifetime.milliseconds, at: expiryOffset + 8)
    record.write(littleEndian: new.terms.freshUntil.rawValue, at: termsOffset)
    record.write(littleEndian: new.terms.staleWhileRevalidateUntil.rawValue, at: termsOffset + 8)
    record.write(littleEndian: new.terms.staleIfErrorUntil.rawValue, at: termsOffset + 16)
    record.write(littleEndian: UInt32(fields.count), at: termsOffset + 24)
    record.write(
      littleEndian: (new.thumbnail.isDamaged ? damageFlag : 0)
        | flag(of: new.decodePath), at: flagsOffset)
    write(new.thumbHash, into: &record)
    record.write(url.span, at: headerByteCount)
    record.write(fields.span, at: headerByteCount + url.count)
    record.write(new.bytes.span, at: headerByteCount + url.count + fields.count)
    RecordChecksum.write(into: &record)
  }

  /// A copy of an intact record with the expiry and the lifetime of `facts`.
  static func copy(of record: Span<UInt8>, keptAs facts: StoredThumbnail) -> [UInt8] {
    var copy = record.copy()
    var bytes = copy.mutableSpan
    bytes.write(littleEndian: facts.expiresAt.rawValue, at: expiryOffset)
    bytes.write(littleEndian: facts.lifetime.milliseconds, at: expiryOffset + 8)
    RecordChecksum.write(into: &bytes)
    return copy
  }

  /// The facts of a record that passes every check; `nil` if it is damaged.
  static func verifiedFacts(of record: Span<UInt8>, key: ContentKey) -> StoredThumbnail? {
    guard let facts = facts(of: record, key: key), RecordChecksum.isRight(of: record) else {
      return nil
    }
    return facts
  }

  /// The facts of a record with a valid header, without checking the rest. Listings use this to
  /// avoid reading the whole store.
  static func facts(of record: Span<UInt8>, key: ContentKey) -> StoredThumbnail? {
    guard record.count >= headerByteCount, record.littleEndian(at: 8, as: UInt16.self) == version,
      let format = ImageFormat(storedNumber: record[10]),
      let sourceFormat = ImageFormat(storedNumber: record[11]),
      let parts = parts(of: record)
    else { return nil }
    return StoredThumbnail(
      key: key,
      url: record.text(in: parts.url),
      thumbnail: Thumbnail(
        format: format,
        width: Int(record.littleEndian(at: 24, as: UInt32.self)),
        height: Int(record.littleEndian(at: 28, as: UInt32.self)),
        byteCount: parts.picture.count, isDamaged: record[flagsOffset] & damageFlag != 0),
      storedAt: moment(at: 48, in: record),
      expiresAt: moment(at: expiryOffset, in: record),
      lifetime: .milliseconds(record.littleEndian(at: expiryOffset + 8, as: Int64.self)),
      sourceFormat: sourceFormat,
      sourceWidth: Int(record.littleEndian(at: 32, as: UInt32.self)),
      sourceHeight: Int(record.littleEndian(at: 36, as: UInt32.self)),
      decodePath: decodePath(in: record[flagsOffset]),
      thumbHash: thumbHash(in: record),
      sourceByteCount: record.littleEndian(at: 40, as: Int64.self),
      terms: terms(of: record, fields: parts.fields))
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
    }
  }

  private static func decodePath(in flags: UInt8) -> DecodePath {
    DecodePath.allCases.first { flag(of: $0) != 0 && flags & flag(of: $0) != 0 } ?? .general
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
  private typealias Parts = (url: Range<Int>, fields: Range<Int>, picture: Range<Int>)

  private static func parts(of record: Span<UInt8>) -> Parts? {
    let fieldsStart = headerByteCount + Int(record.littleEndian(at: 12, as: UInt32.self))
    let start = fieldsStart + Int(record.littleEndian(at: termsOffset + 24, as: UInt32.self))
    guard start <= record.count,
      record.littleEndian(at: 16, as: UInt64.self) == UInt64(record.count - start)
    else { return nil }
    return (headerByteCount..<fieldsStart, fieldsStart..<start, start..<record.count)
  }
}
