import ImgModel
import TestFiles
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
        == CacheRecord(
          id: new.key, name: new.url, kind: .thumbnail, thumbnail: new.thumbnail,
          source: SourcePicture(format: .jpeg, width: 4_000, height: 2_667, byteCount: 3_141_592),
          storageTime: .now, expiryTime: new.expiresAt, lifetime: .milliseconds(5),
          terms: new.terms))
    #expect(Array(record.suffix(new.bytes.count)) == new.bytes)
    #expect(record.count == ThumbnailRecord.byteCount(of: new))
  }

  @Test func `the mark of a damaged picture is kept`() throws {
    for isDamaged in [false, true] {
      let new = try isDamaged ? NewThumbnail(damaged: 7) : NewThumbnail(picture: 7)
      let facts = try #require(verifiedFacts(of: record(of: new), key: new.key))
      #expect(facts.thumbnail.isDamaged == isDamaged)
      #expect(facts.name == new.url)
    }
  }

  @Test func `the decode path is kept`() throws {
    let plain = try NewThumbnail(picture: 7)
    for decodePath in [DecodePath.general, .planar] {
      let new = NewThumbnail(
        key: plain.key, url: plain.url, thumbnail: plain.thumbnail,
        source: SourcePicture(
          format: .jpeg, width: 4_000, height: 2_667, byteCount: 1, decodePath: decodePath,
          thumbHash: nil),
        retention: plain.retention, bytes: plain.bytes)
      let facts = try #require(verifiedFacts(of: record(of: new), key: new.key))
      #expect(facts.source.decodePath == decodePath)
      #expect(!facts.thumbnail.isDamaged)
    }
  }

  @Test func `only an original says that it was not decoded`() throws {
    let plain = try NewThumbnail(picture: 7)
    let original = ContentKey(originalOfRecord: plain.url)
    for (key, decodePath) in [
      (original, DecodePath.undecoded), (original, .planar), (plain.key, .general),
    ] {
      let new = NewThumbnail(
        key: key, url: plain.url, thumbnail: plain.thumbnail,
        source: SourcePicture(
          format: .jpeg, width: 4_000, height: 2_667, byteCount: 1, decodePath: decodePath,
          thumbHash: nil),
        retention: plain.retention, bytes: plain.bytes)
      let facts = try #require(verifiedFacts(of: record(of: new), key: new.key))
      #expect(facts.isUndecoded == (decodePath == .undecoded))
      #expect(facts.source.decodePath == (decodePath == .planar ? nil : decodePath))
    }
  }

  @Test(arguments: [24, 25])
  func `a record has the ThumbHash, or none`(hashByteCount: Int) throws {
    let head: [UInt8] = hashByteCount == 24 ? [32, 8, 2, 7, 0] : [32, 8, 0x82, 5, 0, 1]
    let bytes = head + (head.count..<hashByteCount).map { UInt8($0 % 16) }
    let hash = try #require(ThumbHash(bytes: bytes))
    let plain = try NewThumbnail(picture: 7)
    let new = NewThumbnail(
      key: plain.key, url: plain.url, thumbnail: plain.thumbnail,
      source: SourcePicture(
        format: .jpeg, width: 4_000, height: 2_667, byteCount: 1, decodePath: .general,
        thumbHash: hash),
      retention: plain.retention, bytes: plain.bytes)
    let facts = try #require(verifiedFacts(of: record(of: new), key: new.key))
    #expect(facts.source.thumbHash == hash)
    #expect(facts.name == new.url && facts.thumbnail == new.thumbnail)
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
    #expect(extended.expiryTime == until)
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
  private func verifiedFacts(of record: [UInt8], key: ContentKey) -> CacheRecord? {
    ThumbnailRecord.verifiedFacts(of: record.span, key: key)
  }
}

@Suite
struct ContentKeyTests {
  private let url: ImageURL

  init() throws {
    url = try ImageURL(parsing: "https://example.org/a.jpg")
  }

  /// Pins the format: a new value would make every stored thumbnail unreachable. Computed with
  /// Python's `hashlib.blake2b(digest_size=32)`.
  @Test func `a key is the BLAKE2b hash of domain, URL, NUL and variant`() {
    #expect(
      ContentKey(PictureName(url), variant: .standard).description
        == "cc16bddb28c63b7686801d3074ea57c8aab7e4adf63fb3a2fa99f6c5ba979e2f")
  }

  @Test func `another URL or another variant is another key`() throws {
    let key = ContentKey(PictureName(url), variant: .standard)
    let other = try ImageURL(parsing: "https://example.org/b.jpg")
    #expect(ContentKey(PictureName(other), variant: .standard) != key)
    #expect(
      ContentKey(PictureName(url), variant: try Variant(ImageVariant(width: 256, height: 255)))
        != key)
    #expect(ContentKey(PictureName(url), variant: .standard) == key)
  }

  @Test func `a key is read from its text, and from no other text`() {
    let key = ContentKey(PictureName(url), variant: .standard)
    let text = key.description
    #expect(ContentKey(text) == key)
    for other in [
      "", String(text.dropLast()), text + "0", text.uppercased(), "+f" + text.dropFirst(2),
    ] {
      #expect(ContentKey(other) == nil, "\(other)")
    }
  }

  @Test func `a key follows the one before it, and the first has none before it`() {
    let keys = [
      ContentKey(0, 0, 0, 0), ContentKey(0, 0, 0, 1), ContentKey(0, 0, 1, 0),
      ContentKey(7, 0, 0, 0), ContentKey(.max, .max, .max, .max),
    ]
    #expect(
      keys.map(\.predecessor) == [
        nil, keys[0], ContentKey(0, 0, 0, .max), ContentKey(6, .max, .max, .max),
        ContentKey(.max, .max, .max, .max - 1),
      ])
    #expect(keys.shuffled().sorted() == keys)
    #expect(keys.sorted { $0.description < $1.description } == keys)
  }
}

/// The beginnings of bodies whose transfers broke off.
@Suite(.timeLimit(.minutes(20))) struct PartialTests {
  private static let budget: Int64 = 16 << 20
  private static let hour: Int64 = 3_600
  private let directory = TestDirectory()
  private let shared: SharedStore
  private let store: ThumbnailStore

  init() throws {
    shared = try SharedStore(
      directory: directory.path + "/store", access: .readWrite(budgetByteCount: Self.budget))
    store = try shared.current()
  }

  private func name(_ number: Int) throws -> PictureName {
    PictureName(try ImageURL(parsing: "https://example.org/\(number).jpg"))
  }

  private func partial(_ number: Int, complete: Int? = 9_000_000) throws -> StoredPartial {
    StoredPartial(
      url: try name(number).recordText,
      state: ResumeState(
        validator: "\"v\(number)\"", completeByteCount: complete, receivedByteCount: 1_234))
  }

  private func put(_ number: Int, byteCount: Int = 100_000, at now: WallTime = .now) throws {
    try store.putPartial(
      partial(number),
      bytes: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: byteCount),
      at: now)
  }

  /// How many bytes are given out of a picture; `nil` for none.
  private func count(of number: Int, at now: WallTime = .now) throws -> Int? {
    try store.withPartial(of: name(number), at: now) { _, bytes in bytes.count }
  }

  private func partialCount() throws -> Int { try store.statistics(at: .now).partialCount }

  @Test(arguments: [nil, 9_000_000])
  func `a stored partial body is returned only for its picture`(complete: Int?) throws {
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    try store.putPartial(partial(1, complete: complete), bytes: bytes, at: .now)
    let found = try store.withPartial(of: name(1), at: .now) { ($0, $1.copy()) }
    #expect(try found?.0 == partial(1, complete: complete))
    #expect(found?.1 == bytes)
    #expect(try count(of: 2) == nil)
    let other = PictureName(
      text: try name(1).text, headers: [try HeaderField(name: "x", value: "y")])
    #expect(try store.withPartial(of: other, at: .now) { _, _ in true } == nil)
  }

  @Test func `a record has the documented layout`() throws {
    let record = try PartialRecord.encode(partial(1), bytes: [7, 8], storedAt: .now)
    let span = record.span
    #expect(span.littleEndian(at: 8, as: UInt32.self) == 2)
    #expect(span.littleEndian(at: 12, as: UInt32.self) == 25)
    #expect(span.littleEndian(at: 16, as: UInt32.self) == 4)
    #expect(span.littleEndian(at: 24, as: Int64.self) == 9_000_000)
    #expect(span.littleEndian(at: 32, as: Int64.self) == 1_234)
    #expect(span.littleEndian(at: 40, as: Int64.self) == WallTime.now.rawValue)
    #expect(record.dropFirst(48).elementsEqual("https://example.org/1.jpg\"v1\"\u{7}\u{8}".utf8))
  }

  @Test func `a record names the URL that issued its validator`() throws {
    let issuer = "https://cdn.example.org:443/1.jpg"
    let partial = StoredPartial(
      url: try name(1).recordText,
      state: ResumeState(
        validator: "\"v\"", issuer: issuer, completeByteCount: nil, receivedByteCount: 2))
    let record = PartialRecord.encode(partial, bytes: [7, 8], storedAt: .now)
    #expect(Int(record.span.littleEndian(at: 20, as: UInt32.self)) == issuer.utf8.count)
    #expect(record.dropFirst(48 + 25 + 3).elementsEqual("\(issuer)\u{7}\u{8}".utf8))
    try store.putPartial(partial, bytes: [7, 8], at: .now)
    let found = try store.withPartial(of: name(1), at: .now) { ($0, $1.copy()) }
    #expect(found?.0 == partial)
    #expect(found?.1 == [7, 8])
  }

  @Test func `a later partial body replaces an earlier one`() throws {
    try put(1, byteCount: 100_000)
    try put(1, byteCount: 200_000)
    #expect(try count(of: 1) == 200_000)
    #expect(try partialCount() == 1)
  }

  @Test func `a partial body is returned for an hour, also before it was stored`() throws {
    try put(1)
    #expect(try count(of: 1, at: .now(plusSeconds: Self.hour - 1)) == 100_000)
    #expect(try count(of: 1, at: .now(plusSeconds: Self.hour)) == nil)
    #expect(try count(of: 1, at: .now(plusSeconds: -1)) == 100_000)
    #expect(try !store.hasExpired(at: .now(plusSeconds: -1)))
    #expect(try count(of: 1, at: .now(plusSeconds: -Self.hour - 1)) == nil)
  }

  // MARK: - Room

  @Test func `partial bodies stay within an eighth of the budget, the oldest go first`() throws {
    for number in 0..<20 {
      try put(number, byteCount: 400_000, at: .now(plusSeconds: Int64(number)))
      let statistics = try store.statistics(at: .now)
      #expect(statistics.partialByteCount <= Self.budget / 8)
      #expect(statistics.occupiedByteCount <= Self.budget)
    }
    let now = WallTime.now(plusSeconds: 20)
    #expect(try (0..<20).filter { try count(of: $0, at: now) != nil } == [15, 16, 17, 18, 19])
  }

  @Test func `a partial body that is too long is truncated`() throws {
    try put(1, byteCount: 3 << 20)
    let kept = try count(of: 1) ?? 0
    #expect(kept < Int(Self.budget) / 8)
    #expect(kept > Int(Self.budget) / 8 - 100_000)
    #expect(try store.statistics(at: .now).partialByteCount <= Self.budget / 8)
  }

  @Test func `a store full of thumbnails makes room and stays within its budget`() throws {
    for number in 0..<200 {
      try store.put([NewThumbnail(large: number, byteCount: 100_000)], at: .now)
      try put(number, at: .now(plusSeconds: Int64(number % 7)))
      #expect(try store.size().occupiedByteCount <= Self.budget)
    }
    #expect(try count(of: 199, at: .now(plusSeconds: 7)) == 100_000)
    #expect(try store.bytes(ofPicture: 199) != nil)
    #expect(try store.defects().isEmpty)
  }

  @Test func `a put that needs the whole budget removes partial bodies`() throws {
    try put(1, byteCount: 1_800_000)
    try store.put([NewThumbnail(large: 1, byteCount: Int(Self.budget) - 400_000)], at: .now)
    #expect(try store.bytes(ofPicture: 1) != nil)
    #expect(try count(of: 1) == nil)
    #expect(try store.size().occupiedByteCount <= Self.budget)
  }

  // MARK: - Removal

  @Test func `partial bodies are removed by name, when expired, and by a reset`() throws {
    try put(1)
    try put(2)
    #expect(try store.removePartials(of: [name(1), name(3)]) == 1)
    #expect(try count(of: 1) == nil)
    #expect(try count(of: 2) != nil)
    #expect(try !store.hasExpired(at: .now(plusSeconds: Self.hour - 1)))
    #expect(try store.hasExpired(at: .now(plusSeconds: Self.hour)))
    #expect(try store.removeExpired(at: .now(plusSeconds: Self.hour), limit: 10) == 0)
    #expect(try !store.hasExpired(at: .now(plusSeconds: Self.hour)))
    #expect(try partialCount() == 0)
    try put(3)
    try store.reset()
    #expect(try partialCount() == 0)
    #expect(try store.statistics(at: .now).partialByteCount == 0)
  }

  @Test func `storing a partial body removes expired ones`() throws {
    try put(1)
    try put(2, at: .now(plusSeconds: Self.hour))
    #expect(try partialCount() == 1)
  }

  @Test func `a partial body survives compaction`() throws {
    try put(1)
    _ = try shared.compact()
    let bytes = try shared.current().withPartial(of: name(1), at: .now) { _, bytes in bytes.count }
    #expect(bytes == 100_000)
  }

  // MARK: - Damage

  enum Damage: CaseIterable {
    case flippedBit, cutRecord, invalidKey, otherName
  }

  @Test(arguments: Damage.allCases)
  func `a damaged partial body is not returned, is found and is repaired`(damage: Damage) throws {
    try put(1)
    try put(2)
    let key = ContentKey(partialOf: try name(1)).bytes
    let otherKey = ContentKey(partialOf: try name(3)).bytes
    let tables = store.tables
    try store.environment.write { transaction throws(StoreError) in
      guard
        var record = try transaction.withValue(of: key, in: tables.partials, { $0.copy() })
      else { return }
      switch damage {
      case .flippedBit: record[90_000] ^= 1
      case .cutRecord: record = Array(record.prefix(20))
      case .invalidKey: try transaction.put([1], for: [2, 3], in: tables.partials)
      case .otherName: try transaction.put(record, for: otherKey, in: tables.partials)
      }
      try transaction.put(record, for: key, in: tables.partials)
    }
    if [.flippedBit, .cutRecord].contains(damage) { #expect(try count(of: 1) == nil) }
    #expect(try count(of: 3) == nil)
    var defects: [StoreDefect] = []
    #expect(try shared.verify(isRepairing: true) { defects.append($0) } == 0)
    #expect(defects.map(\.table) == [.partials])
    #expect(defects.map(\.reason) == [damage == .invalidKey ? .invalid : .damaged])
    #expect(try store.defects().isEmpty)
    #expect(try count(of: 2) == 100_000)
  }
}
