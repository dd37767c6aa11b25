import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// Records that their origin says still hold.
@Suite(.timeLimit(.minutes(20)))
struct RenewalTests {
  private let directory: TestDirectory
  private let store: ThumbnailStore

  init() throws {
    directory = try TestDirectory()
    store = try ThumbnailStore(directory)
  }

  private static func terms(_ fields: String, until seconds: Int64 = 0) -> ReuseTerms {
    ReuseTerms(
      freshUntil: .now(plusSeconds: seconds), staleWhileRevalidateUntil: .now(plusSeconds: 1),
      staleIfErrorUntil: .now(plusSeconds: 2), fields: fields)
  }

  private func put(_ number: Int, _ fields: String = "etag: \"1\"") throws -> StoredThumbnail {
    let plain = try NewThumbnail(picture: number)
    let new = NewThumbnail(
      key: plain.key, url: plain.url, thumbnail: plain.thumbnail, sourceFormat: .jpeg,
      sourceWidth: 4_000, sourceHeight: 2_667, sourceByteCount: 3_141_592,
      retention: plain.retention, terms: Self.terms(fields), bytes: plain.bytes)
    try store.put([new], at: .now)
    return try #require(try facts(number))
  }

  private func facts(_ number: Int) throws -> StoredThumbnail? {
    try store.facts(of: [ContentKey(picture: number)], at: .now)[0]
  }

  private func renewal(_ record: StoredThumbnail, _ fields: String = "etag: \"1\"") -> Renewal {
    Renewal(
      of: record, terms: Self.terms(fields, until: 50),
      retention: Retention(after: .seconds(600)))
  }

  private let later = WallTime.now(plusSeconds: 30)

  @Test func `the terms of a record are kept, also after an extension`() throws {
    let record = try put(1)
    #expect(record.terms == Self.terms("etag: \"1\""))
    let access = ThumbnailAccess(
      key: record.key, retention: Retention(after: .seconds(900)), at: .now)
    try store.extend([access])
    let extended = try #require(try facts(1))
    #expect(extended.terms == record.terms)
    #expect(extended.expiresAt == .now(plusSeconds: 900))
    #expect(try store.bytes(ofPicture: 1) == NewThumbnail(picture: 1).bytes)
  }

  @Test func `a renewed record of a damaged picture keeps its mark`() throws {
    let new = try NewThumbnail(damaged: 1)
    try store.put([new], at: .now)
    let record = try #require(try facts(1))
    #expect(try store.renew([renewal(record, "")], at: later))
    let renewed = try #require(try facts(1))
    #expect(renewed.thumbnail.isDamaged)
    #expect(renewed.storedAt == later)
  }

  @Test func `a renewed record has new terms and a new storage time, and keeps its bytes`() throws {
    let record = try put(1)
    let request = renewal(record, "etag: \"1\"\nexpires: 0")
    #expect(try store.renew([request], at: later))
    let renewed = try #require(try facts(1))
    #expect(renewed.terms == request.terms)
    #expect(renewed.storedAt == later)
    #expect(renewed.expiresAt == later.advanced(by: .seconds(600)))
    #expect(try store.bytes(ofPicture: 1) == NewThumbnail(picture: 1).bytes)
    #expect(try store.defects().isEmpty)
    // A concurrent revalidation of the same record.
    #expect(try store.renew([request], at: later))
  }

  @Test func `a renewal does not shorten the expiry`() throws {
    let record = try put(1)
    let request = Renewal(
      of: record, terms: record.terms, retention: Retention(after: .seconds(1)))
    #expect(try store.renew([request], at: .now))
    #expect(try facts(1)?.expiresAt == record.expiresAt)
  }

  @Test func `a record that was removed, expired or replaced is not renewed`() throws {
    let gone = renewal(try put(1))
    let expired = renewal(try put(2))
    let replaced = renewal(try put(3))
    _ = try store.remove([ContentKey(picture: 1)])
    let other = try put(3, "etag: \"2\"")
    #expect(try !store.renew([gone], at: later))
    #expect(try !store.renew([expired], at: .now(plusSeconds: 60)))
    #expect(try !store.renew([replaced], at: later))
    #expect(try facts(3) == other)
    #expect(try facts(1) == nil)
  }

  @Test func `a renewal of several records fails if one is missing`() throws {
    let requests = [renewal(try put(1)), renewal(try put(2))]
    _ = try store.remove([ContentKey(picture: 2)])
    #expect(try !store.renew(requests, at: later))
  }
}
