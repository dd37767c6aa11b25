import FoundationEssentials
import ImgModel
import ImgStore
import ImgSystem
import SeededRandom

/// How the costs of a store grow with what it holds.
extension Bench {
  private static let timedHitSeconds = 2.0
  private static let hitKeyCount = 20_000
  private static let timedPutCount = 100
  private static let timedEvictionCount = 5

  /// What a hit, a put and an eviction cost in a store of many thumbnails.
  func measureStore(ofSize size: Int, into report: inout Report) throws {
    let count = options.scaled(size)
    let content = StoreContent.small
    try note("a store of \(count) thumbnails of \(content.pictureByteCount) bytes")
    let directory = options.workDirectory + "/sized"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let occupied = try measureHitsAndPuts(count, content, in: directory, into: &report)
    try measureEvictions(count, content, occupied, in: directory, into: &report)
  }

  private func measureHitsAndPuts(
    _ count: Int, _ content: StoreContent, in directory: String, into report: inout Report
  ) throws -> Int64 {
    let (store, trial) = try hitTrial(of: count, content, in: directory)
    let name = "of \(count) thumbnails"
    let command = "ThumbnailStore.withThumbnail, \(content.pictureByteCount) bytes each"
    report.add("\(name), hit: median", Samples([trial.median]), "µs", command: command)
    report.add("\(name), hit: 99 %", Samples([trial.quantile99]), "µs", command: command)
    let now = WallTime.now
    var puts = Samples()
    for group in 0..<Self.timedPutCount {
      let first = count + group * 64
      let thumbnails = try (first..<first + 64).map { try content.thumbnail($0) }
      puts.add(try Self.microseconds { try store.put(thumbnails, at: now) } / 64)
    }
    report.add("\(name), put", puts, "µs", command: "ThumbnailStore.put in groups of 64, a 64th")
    return try store.summary().occupiedByteCount
  }

  /// Hits of a new store of `count` thumbnails.
  func hitTrial(
    of count: Int, _ content: StoreContent, in directory: String
  ) throws -> (store: ThumbnailStore, trial: HitTrial) {
    // Room for twice as many, at a page each and something for the indexes.
    let budget = Int64(count + 100 * 64) * 2 * 4_096 + (16 << 20)
    let store = try ThumbnailStore(
      directory: directory, access: .readWrite(budgetByteCount: budget))
    try content.fill(store, with: 0..<count)
    var random = SeededGenerator(seed: UInt64(count))
    let keys = try (0..<min(count, Self.hitKeyCount)).map { _ in
      try content.key(Int(truncatingIfNeeded: random.next() >> 1) % count)
    }
    let now = WallTime.now
    let trial = try HitTrial(seconds: Self.timedHitSeconds, keys: keys, seed: 1) { key in
      let found = try store.withThumbnail(key, at: now) { _, bytes in bytes.count }
      guard found == content.pictureByteCount else { throw BenchError("a hit was missed") }
    }
    return (store, trial)
  }

  /// Into a store whose budget is a little smaller than what it holds, so that each put evicts as
  /// much as one may.
  private func measureEvictions(
    _ count: Int, _ content: StoreContent, _ occupied: Int64, in directory: String,
    into report: inout Report
  ) throws {
    let store = try ThumbnailStore(
      directory: directory, access: .readWrite(budgetByteCount: occupied / 100 * 99))
    var evictions = Samples()
    for number in 0..<Self.timedEvictionCount {
      let thumbnail = try content.thumbnail(2 * count + 1_000_000 + number)
      let before = try evictionCount(of: store)
      let microseconds = try Self.microseconds {
        try store.put([thumbnail], at: WallTime.now)
      }
      let evicted = try evictionCount(of: store) - before
      if evicted > 0 { evictions.add(microseconds / Double(evicted)) }
    }
    guard !evictions.values.isEmpty else { throw BenchError("nothing was evicted") }
    report.add(
      "of \(count) thumbnails, eviction", evictions, "µs",
      command: "ThumbnailStore.put of one into a full store, through what it evicts")
  }

  private func evictionCount(of store: ThumbnailStore) throws -> UInt64 {
    guard let counters = try store.statistics(at: WallTime.now).counters else {
      throw BenchError("nothing is counted")
    }
    return counters.evictions
  }
}
