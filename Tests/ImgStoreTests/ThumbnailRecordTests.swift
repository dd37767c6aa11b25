import ImgModel
import Testing

@testable import ImgStore

@Suite
struct ThumbnailRecordTests {
  @Test func `a record returns the stored values`() throws {
    let new = try NewThumbnail(picture: 7)
    let record = record(of: new, lifetime: .milliseconds(5))
    let facts = try #require(verifiedFacts(of: record, key: new.key))
    #expect(
      facts
        == StoredThumbnail(
          key: new.key, url: new.url, thumbnail: new.thumbnail, storedAt: .now,
          expiresAt: new.expiresAt, lifetime: .milliseconds(5), sourceFormat: .jpeg,
          sourceWidth: 4_000, sourceHeight: 2_667, decodePath: .general,
          thumbHash: nil, sourceByteCount: 3_141_592, terms: new.terms))
    #expect(Array(record.suffix(new.bytes.count)) == new.bytes)
    #expect(record.count == ThumbnailRecord.byteCount(of: new))
  }

  @Test func `the mark of a damaged picture is kept`() throws {
    for isDamaged in [false, true] {
      let new = try isDamaged ? NewThumbnail(damaged: 7) : NewThumbnail(picture: 7)
      let facts = try #require(verifiedFacts(of: record(of: new), key: new.key))
      #expect(facts.thumbnail.isDamaged == isDamaged)
      #expect(facts.url == new.url)
    }
  }

  @Test func `the decode path is kept`() throws {
    let plain = try NewThumbnail(picture: 7)
    for decodePath in [DecodePath.general, .planar] {
      let new = NewThumbnail(
        key: plain.key, url: plain.url, thumbnail: plain.thumbnail, sourceFormat: .jpeg,
        sourceWidth: 4_000, sourceHeight: 2_667, decodePath: decodePath, sourceByteCount: 1,
        retention: plain.retention, bytes: plain.bytes)
      let facts = try #require(verifiedFacts(of: record(of: new), key: new.key))
      #expect(facts.decodePath == decodePath)
      #expect(!facts.thumbnail.isDamaged)
    }
  }

  @Test(arguments: [24, 25])
  func `a record has the ThumbHash, or none`(hashByteCount: Int) throws {
    let head: [UInt8] = hashByteCount == 24 ? [32, 8, 2, 7, 0] : [32, 8, 0x82, 5, 0, 1]
    let bytes = head + (head.count..<hashByteCount).map { UInt8($0 % 16) }
    let hash = try #require(ThumbHash(bytes: bytes))
    let plain = try NewThumbnail(picture: 7)
    let new = NewThumbnail(
      key: plain.key, url: plain.url, thumbnail: plain.thumbnail, sourceFormat: .jpeg,
      sourceWidth: 4_000, sourceHeight: 2_667, thumbHash: hash, sourceByteCount: 1,
      retention: plain.retention, bytes: plain.bytes)
    let facts = try #require(verifiedFacts(of: record(of: new), key: new.key))
    #expect(facts.thumbHash == hash)
    #expect(facts.url == new.url && facts.thumbnail == new.thumbnail)
    #expect(Array(record(of: new).suffix(new.bytes.count)) == new.bytes)
  }

  @Test func `a record of an earlier version is not read`() throws {
    let new = try NewThumbnail(picture: 7)
    for version in 0...5 as ClosedRange<UInt8> {
      var older = record(of: new)
      older[8] = version
      var bytes = older.mutableSpan
      RecordChecksum.write(into: &bytes)
      #expect(verifiedFacts(of: older, key: new.key) == nil)
    }
  }

  @Test func `any flipped bit is detected`() throws {
    let new = try NewThumbnail(picture: 7, byteCount: 40)
    let record = record(of: new)
    for position in record.indices {
      var damaged = record
      damaged[position] ^= 0x10
      #expect(verifiedFacts(of: damaged, key: new.key) == nil)
    }
  }

  @Test func `a record truncated at any length is detected`() throws {
    let new = try NewThumbnail(picture: 7, byteCount: 40)
    let record = record(of: new)
    for count in record.indices {
      let cut = Array(record.prefix(count))
      #expect(verifiedFacts(of: cut, key: new.key) == nil)
    }
  }

  @Test func `a URL length beyond the record is detected without the checksum`() throws {
    let new = try NewThumbnail(picture: 7)
    var record = record(of: new)
    record.replaceSubrange(12..<16, with: [0xFF, 0xFF, 0xFF, 0xFF])
    let facts = ThumbnailRecord.facts(of: record.span, key: new.key)
    #expect(facts == nil)
  }

  @Test(arguments: ImageFormat.allCases)
  func `every format has its own number`(format: ImageFormat) {
    #expect(ImageFormat(storedNumber: format.storedNumber) == format)
    #expect(ImageFormat(storedNumber: 0) == nil)
  }

  @Test(
    arguments: [
      (.min, -1), (-1, 0), (0, 1), (255, 256), (1_800_000_000_000, .max),
    ] as [(Int64, Int64)])
  func `the bytes of an expiry key are in the order of time`(earlier: Int64, later: Int64) throws {
    let key = try ContentKey(picture: 1)
    let first = ExpiryEntry.encodedKey(expiresAt: WallTime(rawValue: earlier), key: key)
    let second = ExpiryEntry.encodedKey(expiresAt: WallTime(rawValue: later), key: key)
    #expect(first.lexicographicallyPrecedes(second))
    let value = ExpiryEntry(
      expiresAt: .now, key: key, storedAt: .now(plusSeconds: -9), byteCount: 5, sequence: 7
    ).encodedValue
    let found = ExpiryEntry(key: first.span, value: value.span)
    let entry = try #require(found)
    #expect(entry.expiresAt.rawValue == earlier)
    #expect(entry.storedAt == .now(plusSeconds: -9))
    #expect(entry.byteCount == 5)
    #expect(entry.sequence == 7)
    #expect(entry.key == key)
  }

  @Test func `an extended record differs only in its times`() throws {
    let new = try NewThumbnail(picture: 7)
    let before = record(of: new)
    let facts = try #require(verifiedFacts(of: before, key: new.key))
    let until = new.expiresAt.advanced(by: .seconds(60))
    let extended = try #require(facts.extended(by: Retention(until: until), at: .now))
    let after = ThumbnailRecord.copy(of: before.span, keptAs: extended)
    #expect(verifiedFacts(of: after, key: new.key) == extended)
    #expect(extended.expiresAt == until)
    let changed = before.indices.filter { before[$0] != after[$0] }
    #expect(changed.allSatisfy { $0 < 8 || (56..<64).contains($0) })
  }

  private func record(of new: NewThumbnail, lifetime: Duration = .zero) -> [UInt8] {
    // What was not written would stay as it is here.
    var record = [UInt8](repeating: 0xAA, count: ThumbnailRecord.byteCount(of: new))
    var bytes = record.mutableSpan
    ThumbnailRecord.write(
      new, storedAt: .now, expiresAt: new.expiresAt, lifetime: lifetime, into: &bytes)
    return record
  }

  /// A span cannot pass through `#expect`.
  private func verifiedFacts(of record: [UInt8], key: ContentKey) -> StoredThumbnail? {
    ThumbnailRecord.verifiedFacts(of: record.span, key: key)
  }
}
