import ImgModel
import SeededRandom
import TestFiles
import Testing

@testable import ImgStore

/// When thumbnails expire, and what accesses change of it.
@Suite(.timeLimit(.minutes(20))) struct ExpiryTests {
  private let directory = TestDirectory()
  private let store: ThumbnailStore
  private static let day = Duration.seconds(86_400)

  init() throws {
    store = try ThumbnailStore(directory)
  }

  private func facts(ofPicture number: Int = 1, at now: WallTime = .now) throws -> CacheRecord? {
    guard case .hit(let facts) = try store.lookup(ContentKey(picture: number), at: now) else {
      return nil
    }
    return facts
  }

  /// How long after the tests' present the thumbnail expires.
  private func expiry(ofPicture number: Int = 1, at now: WallTime = .now) throws -> Duration? {
    try facts(ofPicture: number, at: now).map { WallTime.now.duration(to: $0.expiryTime) }
  }

  private func put(_ retention: Retention, at now: WallTime = .now) throws {
    try store.put([NewThumbnail(picture: 1, retention: retention)], at: now)
  }

  private func access(
    picture number: Int = 1, _ retention: Retention = Retention(), at now: WallTime
  ) throws {
    try store.extend([
      ThumbnailAccess(key: ContentKey(picture: number), retention: retention, at: now)
    ])
  }

  private func expectSound() throws {
    #expect(try store.defects() == [])
    #expect(try store.verifiedEntryCounts().count == 1)
  }

  // MARK: - Stored

  @Test(arguments: [.seconds(604_800), .seconds(31_556_926)] as [Duration])
  func `a duration counts from the time at which a thumbnail is stored`(duration: Duration) throws {
    let storedAt = WallTime.now(plusSeconds: -77)
    try put(Retention(after: duration), at: storedAt)
    let facts = try #require(try facts())
    #expect(facts.storageTime == storedAt)
    #expect(facts.storageTime.duration(to: facts.expiryTime) == duration)
    #expect(facts.lifetime == .zero)
  }

  @Test func `an expiry date does not change, even in the past`() throws {
    let date = WallTime.now(plusSeconds: 500)
    try put(Retention(until: date))
    #expect(try facts()?.expiryTime == date)
    try store.put([NewThumbnail(picture: 2, expiresAt: .now(plusSeconds: -5))], at: .now)
    #expect(try expiry(ofPicture: 2) == nil)
    #expect(try expiry(ofPicture: 2, at: .now(plusSeconds: -6)) == .seconds(-5))
  }

  // MARK: - Accessed

  @Test func `an access can extend the expiry, counted from the download`() throws {
    try put(Retention(after: .seconds(10)))
    try access(Retention(after: .seconds(100)), at: .now(plusSeconds: 9))
    #expect(try expiry() == .seconds(100))
    #expect(try store.removeExpired(at: .now(plusSeconds: 99), limit: 10) == 0)
    let date = WallTime.now(plusSeconds: 200)
    try access(Retention(until: date), at: .now(plusSeconds: 99))
    #expect(try facts()?.expiryTime == date)
    #expect(try facts()?.storageTime == .now)
    try expectSound()
    #expect(try store.removeExpired(at: date, limit: 10) == 1)
    #expect(try store.verifiedEntryCounts() == [0])
  }

  @Test func `an extension keeps the bytes, the order of arrival and the statistics`() throws {
    let new = try NewThumbnail(picture: 1, byteCount: 9_000)
    try store.put([new, NewThumbnail(picture: 2)], at: .now)
    let before = try store.statistics(at: .now)
    try access(Retention(after: Self.day, sliding: .milliseconds(7)), at: .now)
    #expect(try store.bytes(ofPicture: 1) == new.bytes)
    let after = try store.statistics(at: .now)
    #expect(after.byteCount == before.byteCount)
    #expect(after.oldestStorageTime == before.oldestStorageTime)
    let arrivals = try store.environment.read { transaction throws(StoreError) in
      try store.tables.arrivals(from: 0, limit: 9, transaction).entries.map(\.key)
    }
    #expect(arrivals == [new.key, try ContentKey(picture: 2)])
    try expectSound()
  }

  @Test func `a sliding expiry is renewed by an access after a tenth of the lifetime`() throws {
    try put(Retention(after: .seconds(100), sliding: .seconds(100)))
    try access(at: .now(plusSeconds: 10))
    #expect(try expiry() == .seconds(100), "a tenth, and no more")
    try access(at: .now(plusSeconds: 11))
    #expect(try expiry() == .seconds(111))
    try access(at: .now(plusSeconds: 21))
    #expect(try expiry() == .seconds(111))
    try access(at: .now(plusSeconds: 110))
    #expect(try expiry() == .seconds(210))
    // A clock that was set back.
    try access(at: .now(plusSeconds: -500))
    #expect(try expiry() == .seconds(210))
    try expectSound()
  }

  @Test func `removed and expired thumbnails are not extended`() throws {
    try put(Retention(after: .seconds(10)))
    let more = Retention(after: .seconds(100))
    try access(more, at: .now(plusSeconds: 10))
    #expect(try expiry() == .seconds(10))
    // Found in time, written too late.
    try access(more, at: .now(plusSeconds: 9))
    #expect(try expiry() == .seconds(100))
    try access(picture: 2, more, at: .now)
    #expect(try store.size().recordCount == 1)
    try expectSound()
  }

  @Test func `a damaged record or index is not extended`() throws {
    try store.put([NewThumbnail(picture: 1), NewThumbnail(picture: 2)], at: .now)
    let key = try ContentKey(picture: 1)
    let other = try ContentKey(picture: 2)
    try store.environment.write { transaction throws(StoreError) in
      let entry = ExpiryEntry.encodedKey(expiresAt: .now(plusSeconds: 60), key: key)
      try transaction.delete(entry, from: store.tables.expiry)
      try transaction.put([1, 2, 3], for: other.bytes, in: store.tables.thumbnails)
    }
    let before = try reasons()
    for number in 1...2 {
      try access(picture: number, Retention(after: Self.day), at: .now)
    }
    #expect(try reasons() == before)
    #expect(try expiry() == .seconds(60))
  }

  private func reasons() throws -> [StoreDefect.Reason] {
    try store.defects().map(\.reason)
  }

  // MARK: - Against a model

  /// What the model knows of a thumbnail, in seconds from the tests' present on.
  private struct Kept {
    var storedAt: Int64
    var expiresAt: Int64
    var lifetime: Int64
  }

  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func `expiries agree with a model after any sequence of operations`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var model: [Int: Kept] = [:]
    var now: Int64 = 0
    for _ in 0..<150 {
      now += Int64.random(in: 0...30, using: &random)
      let number = Int.random(in: 1...6, using: &random)
      let duration = Int64.random(in: 1...100, using: &random)
      let lifetime = Bool.random(using: &random) ? duration : 0
      let requested = Retention(after: .seconds(duration), sliding: .seconds(lifetime))
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1:
        let old = model[number].flatMap { $0.expiresAt > now ? $0 : nil }
        model[number] = Kept(
          storedAt: now, expiresAt: max(now + duration, old?.expiresAt ?? 0),
          lifetime: max(lifetime, old?.lifetime ?? 0))
        try store.put(
          [NewThumbnail(picture: number, retention: requested)], at: .now(plusSeconds: now))
      case 2, 3, 4:
        let isAsking = Bool.random(using: &random)
        if var kept = model[number], kept.expiresAt > now {
          if isAsking {
            kept.lifetime = max(kept.lifetime, lifetime)
            kept.expiresAt = max(kept.expiresAt, kept.storedAt + duration)
          }
          let moved = now + kept.lifetime
          if (moved - kept.expiresAt) * 10 > kept.lifetime { kept.expiresAt = moved }
          model[number] = kept
        }
        try access(picture: number, isAsking ? requested : Retention(), at: .now(plusSeconds: now))
      default:
        _ = try store.removeExpired(at: .now(plusSeconds: now), limit: 100)
        model = model.filter { $0.value.expiresAt > now }
      }
      for (number, kept) in model {
        let found = try facts(ofPicture: number, at: .now(plusSeconds: kept.expiresAt - 1))
        #expect(found?.expiryTime == .now(plusSeconds: kept.expiresAt), "seed \(seed)")
        #expect(found?.lifetime == .seconds(kept.lifetime), "seed \(seed)")
      }
      try expectSound()
    }
  }
}

/// What the store remembers of origins' robots.txt.
@Suite(.timeLimit(.minutes(20))) struct RobotsRecordTests {
  private let directory = TestDirectory()
  private let store: ThumbnailStore
  private let origin = "https://example.org"

  init() throws {
    store = try ThumbnailStore(directory)
  }

  private func record(_ text: String) -> RobotsRecord {
    RobotsRecord(text: text, expiresAt: .now(plusSeconds: 60))
  }

  @Test func `a stored robots.txt is found until it expires`() throws {
    let kept = record("Disallow: /ä\n")
    #expect(try store.robots(of: origin, at: .now) == nil)
    try store.keep(kept, of: origin)
    #expect(try store.robots(of: origin, at: .now(plusSeconds: 59)) == kept)
    #expect(try store.robots(of: origin, at: .now(plusSeconds: 60)) == nil)
    #expect(try store.robots(of: "https://example.org:81", at: .now) == nil)
  }

  @Test func `the newest robots.txt applies, and a reset removes it`() throws {
    try store.keep(record("a"), of: origin)
    try store.keep(record(""), of: origin)
    #expect(try store.robots(of: origin, at: .now)?.text == "")
    try store.reset()
    #expect(try store.robots(of: origin, at: .now) == nil)
  }

  @Test func `robots.txt records beyond their part of the budget are dropped`() throws {
    let budget = Int64(16 << 20)
    let small = try ThumbnailStore(
      directory: directory.path + "/small", access: .readWrite(budgetByteCount: budget))
    try small.put([NewThumbnail(picture: 1)], at: .now)
    let large = record(String(repeating: "a", count: 300 << 10))
    for number in 0..<12 { try small.keep(large, of: "\(origin):\(number)") }
    let known = try (0..<12).filter { try small.robots(of: "\(origin):\($0)", at: .now) != nil }
    #expect(known.contains(11))
    #expect(known.count < 8)
    #expect(try small.bytes(ofPicture: 1) != nil)
  }

  @Test(arguments: [[], [1, 2, 3]] as [[UInt8]])
  func `an invalid record is ignored`(value: [UInt8]) {
    #expect(RobotsRecord(value.span) == nil)
  }
}
