import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// Contents that are too long for one transaction.
@Suite(.timeLimit(.minutes(20))) struct ChunkTests {
  private let directory = TestDirectory()
  private let shared: SharedStore
  private static let budget: Int64 = 32 << 20
  /// More than one group of chunks; the last chunk is shorter.
  private static let bytes = (0..<ChunkedContent.groupByteCount + 1_500_000).map {
    UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 16)
  }
  private let key: ContentKey

  init() throws {
    shared = try SharedStore(
      directory: directory.path + "/store",
      access: .readWrite(budgetByteCount: Self.budget))
    key = try ContentKey(picture: 1)
  }

  private var store: ThumbnailStore { get throws(StoreError) { try shared.current() } }

  @Test func `a long content is there once its record is, and reads as it came`() throws {
    let content = try putChunks()
    #expect(try contents() == nil)
    #expect(try store.defects() == [])
    try store.put([new(content)], at: .now)
    #expect(try contents() == Self.bytes)
    #expect(try store.statistics(at: .now).byteCount == Int64(Self.bytes.count))
    let found = try #require(try store.chunkedContent(of: key, at: .now)?.content)
    for range in [0..<10, 1_000_000..<2_200_000, Self.bytes.count - 5..<Self.bytes.count] {
      #expect(try store.bytes(in: range, of: found, for: key) == Array(Self.bytes[range]))
    }
    #expect(try store.defects() == [])
    #expect(throws: StoreError.self) { try store.put([new(content)], at: .now) }
  }

  @Test func `a record that is extended, renewed or compacted keeps its chunks`() throws {
    try put()
    let later = Retention(until: .now(plusSeconds: 900))
    try store.extend([ThumbnailAccess(key: key, retention: later, at: .now)])
    let record = try #require(try store.facts(of: [key], at: .now)[0])
    #expect(record.expiryTime == .now(plusSeconds: 900))
    #expect(try store.renew([Renewal(of: record, terms: .none, retention: later)], at: .now))
    _ = try shared.compact()
    #expect(try contents() == Self.bytes)
    #expect(try store.defects() == [])
  }

  /// The ways in which a record ends.
  enum End: CaseIterable {
    case removed, expired, evicted, replaced, renewed, reset, abandoned
  }

  @Test(arguments: End.allCases)
  func `chunks go with their record, or without one when their writer does not go on`(
    end: End
  ) throws {
    if end == .abandoned { _ = try putChunks() } else { try put() }
    #expect(try chunkEntryCount() > 5)
    switch end {
    case .removed: #expect(try store.remove([key]) == 1)
    case .expired: _ = try store.removeExpired(at: .now(plusSeconds: 60), limit: 9)
    case .evicted:
      for number in 2..<60 {
        try store.put([NewThumbnail(large: number, byteCount: 1 << 20)], at: .now)
      }
    case .replaced: try store.put([NewThumbnail(picture: 1)], at: .now)
    case .renewed: try put()
    case .reset: try store.reset()
    case .abandoned:
      _ = try store.removeExpired(at: .now(plusSeconds: 599), limit: 9)
      #expect(try chunkEntryCount() > 5)
      #expect(try store.hasExpired(at: .now(plusSeconds: 600)))
      _ = try store.removeExpired(at: .now(plusSeconds: 600), limit: 9)
    }
    #expect(try chunkEntryCount() == (end == .renewed ? 6 : 0))
    #expect(try store.defects() == [])
  }

  @Test func `a content that was removed before its end is not continued`() throws {
    let content = ChunkedContent(byteCount: Self.bytes.count)
    try putGroup(of: content, at: 0)
    try store.reset()
    let error = #expect(throws: StoreError.self) {
      try putGroup(of: content, at: ChunkedContent.groupByteCount)
    }
    #expect(error?.reason == .replaced)
    #expect(try chunkEntryCount() == 0)
  }

  @Test func `a content that does not fit evicts nothing`() throws {
    try store.put([NewThumbnail(picture: 2)], at: .now)
    let huge = ChunkedContent(byteCount: Int(Self.budget) + 1)
    let first = Array(repeating: UInt8(0), count: ChunkedContent.groupByteCount)
    let error = #expect(throws: StoreError.self) {
      try store.putChunks(first, at: 0, of: huge, for: key, at: .now)
    }
    #expect(error?.reason == .tooLarge)
    let pinned = try NewThumbnail(large: 3, byteCount: 12 << 20, pins: [JobID(rawValue: 1)])
    try store.put([pinned], at: .now)
    let large = ChunkedContent(byteCount: 24 << 20)
    let refusal = #expect(throws: StoreError.self) {
      try store.putChunks(first, at: 0, of: large, for: key, at: .now)
    }
    #expect(refusal?.reason == .pinned)
    #expect(try store.size().recordCount == 2)
    #expect(try chunkEntryCount() == 0)
  }

  @Test(arguments: [true, false])
  func `a chunk that is damaged or lost is found, and its record removed`(isLost: Bool) throws {
    let content = try put()
    let chunkKey = ChunkRecord.key(1, of: content.number)
    try store.environment.write { transaction throws(StoreError) in
      guard !isLost else {
        try transaction.delete(chunkKey, from: try store.tables.chunks)
        return
      }
      let value = try transaction.withValue(of: chunkKey, in: try store.tables.chunks) { $0.copy() }
      var damaged = value ?? []
      damaged[damaged.count - 1] ^= 1
      try transaction.put(damaged, for: chunkKey, in: try store.tables.chunks)
    }
    #expect(try contents() == nil)
    #expect(try store.defects().map(\.reason) == (isLost ? [.damaged] : [.damaged, .damaged]))
    if isLost {
      #expect(try shared.verify(isRepairing: true) { _ in } == 1)
    } else {
      #expect(try store.removeStale([key], at: .now) == 1)
    }
    #expect(try chunkEntryCount() == 0)
    #expect(try store.defects() == [])
  }

  @Test func `chunks without a record are found and removed`() throws {
    let content = try putChunks()
    try store.environment.write { transaction throws(StoreError) in
      _ = try store.tables.finish(content, transaction)
    }
    #expect(Set(try store.defects().map(\.reason)) == [.withoutRecord])
    _ = try shared.verify(isRepairing: true) { _ in }
    #expect(try chunkEntryCount() == 0)
  }

  // MARK: - Steps

  @discardableResult
  private func put() throws -> ChunkedContent {
    let content = try putChunks()
    try store.put([new(content)], at: .now)
    return content
  }

  private func putChunks() throws -> ChunkedContent {
    let content = ChunkedContent(byteCount: Self.bytes.count)
    for offset in stride(from: 0, to: Self.bytes.count, by: ChunkedContent.groupByteCount) {
      try putGroup(of: content, at: offset)
    }
    return content
  }

  private func putGroup(of content: ChunkedContent, at offset: Int) throws {
    let end = min(offset + ChunkedContent.groupByteCount, Self.bytes.count)
    try store.putChunks(
      Array(Self.bytes[offset..<end]), at: offset, of: content, for: key, at: .now)
  }

  private func new(_ content: ChunkedContent) throws -> NewThumbnail {
    let plain = try NewThumbnail(picture: 1)
    return NewThumbnail(
      key: key, url: plain.url,
      thumbnail: Thumbnail(format: .png, width: 4_000, height: 500, byteCount: content.byteCount),
      source: plain.source, retention: plain.retention, content: .chunks(content))
  }

  private func contents() throws -> [UInt8]? {
    try store.contents(of: key, at: .now)?.bytes
  }

  private func chunkEntryCount() throws -> Int {
    try store.environment.read { transaction throws(StoreError) in
      try transaction.statistics(of: try store.tables.chunks).entryCount
    }
  }
}
