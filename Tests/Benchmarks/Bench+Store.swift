import FoundationEssentials
import Glibc
import ImgModel
import ImgStore
import ImgSystem
import SeededRandom

/// The store by itself: no coordinator, no worker.
extension Bench {
  private static let putSeconds = 1.0
  private static let groupCounts = [1, 4, 16, 64]

  func measureStore(into report: inout Report) throws {
    try measureStoreHits(into: &report)
    for groupCount in Self.groupCounts { try measurePuts(groupCount: groupCount, into: &report) }
    try measureChurn(into: &report)
    for size in options.storeSizes { try measureStore(ofSize: size, into: &report) }
  }

  // MARK: - Puts

  /// Into an empty store and an empty environment, in turns.
  private func measurePuts(groupCount: Int, into report: inout Report) throws {
    var (rates, bareRates, shares) = (Samples(), Samples(), Samples())
    for round in 1...options.rounds {
      try note("puts in groups of \(groupCount), round \(round) of \(options.rounds)")
      let bare = try bareRate(groupCount: groupCount)
      let rate = try storeRate(groupCount: groupCount)
      rates.add(rate)
      bareRates.add(bare)
      shares.add(rate / bare * 100)
    }
    let name = "puts in groups of \(groupCount)"
    let put = "ThumbnailStore.put, \(StoreContent.usual.pictureByteCount) bytes each"
    report.add("\(name), store", rates, "/s", command: put)
    report.add(
      "\(name), store, commits", Samples(rates.values.map { $0 / Double(groupCount) }), "/s",
      command: put)
    report.add("\(name), bare", bareRates, "/s", command: "mdb_put in one table, mdb_txn_commit")
    report.add("\(name), store : bare", shares, "%", command: "the rates of each round")
  }

  private func bareRate(groupCount: Int) throws -> Double {
    let content = StoreContent.usual
    let record = content.bareRecord
    let directory = options.workDirectory + "/puts"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let store = try BareStore(directory: directory, recordByteCount: record.count)
    return try putRate(groupCount: groupCount) {
      $0.map(content.bareKey)
    } put: { keys in
      try store.put(record, for: keys)
    }
  }

  private func storeRate(groupCount: Int) throws -> Double {
    let content = StoreContent.usual
    let directory = options.workDirectory + "/puts"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let store = try ThumbnailStore(
      directory: directory, access: .readWrite(budgetByteCount: Self.ampleBudgetByteCount))
    return try putRate(groupCount: groupCount) { numbers in
      try numbers.map { try content.thumbnail($0) }
    } put: { thumbnails in
      try store.put(thumbnails, at: WallTime.now)
    }
  }

  /// - Parameter make: what is put, by numbers; the time that this takes does not count.
  private func putRate<Group>(
    groupCount: Int, _ make: (Range<Int>) throws -> Group, put: (Group) throws -> Void
  ) throws -> Double {
    let seconds = Self.putSeconds / Double(options.isQuick ? 10 : 1)
    var count = 0
    var elapsed = 0.0
    repeat {
      let group = try make(count..<count + groupCount)
      elapsed += try Self.microseconds { try put(group) } / 1e6
      count += groupCount
    } while elapsed < seconds
    return Double(count) / elapsed
  }

  // MARK: - Churn

  private static let churnBudgetByteCount: Int64 = 64 << 20
  private static let churnCycles: Int64 = 10

  /// Puts ten times the budget in pictures from 2 to 200 KiB, small ones as often as large ones.
  private func measureChurn(into report: inout Report) throws {
    for isReaderSlow in [false, true] {
      try note("churn\(isReaderSlow ? " with a slow reader" : "")")
      let directory = options.workDirectory + "/churn"
      let share = try churnShare(directory: directory, isReaderSlow: isReaderSlow)
      try FileManager.default.removeItem(atPath: directory)
      let reader = isReaderSlow ? ", while a reader holds each snapshot for a quarter of it" : ""
      report.add(
        "file : budget after churn\(isReaderSlow ? ", slow reader" : "")", Samples([share]), "×",
        command: "put of \(Self.churnCycles) times the budget, 2 to 200 KiB each\(reader)")
    }
  }

  private func churnShare(directory: String, isReaderSlow: Bool) throws -> Double {
    let budget = Self.churnBudgetByteCount
    let store = try ThumbnailStore(
      directory: directory, access: .readWrite(budgetByteCount: budget))
    var churn = Churn(store: store)
    for _ in 0..<Self.churnCycles * 4 {
      if isReaderSlow {
        // The snapshot lasts as long as the closure.
        let outcome = try store.withThumbnail(try churn.newest(), at: WallTime.now) { _, _ in
          Result { try churn.put(byteCount: budget / 4) }
        }
        try outcome?.get()
      } else {
        try churn.put(byteCount: budget / 4)
      }
    }
    return Double(try store.statistics(at: WallTime.now).fileByteCount) / Double(budget)
  }
}

/// Puts pictures of mixed sizes, each new, into a store.
struct Churn {
  private let store: ThumbnailStore
  private let content = StoreContent.usual
  private var random = SeededGenerator(seed: 1)
  private var count = 0

  private static let groupCount = 16
  /// From 2 to 200 KiB.
  private static let smallestByteCount = 2_048.0
  private static let spread = 100.0

  init(store: ThumbnailStore) {
    self.store = store
  }

  /// Puts pictures until they have so many bytes.
  mutating func put(byteCount: Int64) throws {
    var left = byteCount
    while left > 0 {
      let group = try (count..<count + Self.groupCount).map { number in
        try content.thumbnail(number, byteCount: nextByteCount())
      }
      try store.put(group, at: WallTime.now)
      count += Self.groupCount
      left -= group.reduce(0) { $0 + Int64($1.thumbnail.byteCount) }
    }
  }

  /// The key of what was put last, after a first group if there is none.
  mutating func newest() throws -> ContentKey {
    if count == 0 { try put(byteCount: 1) }
    return try content.key(count - 1)
  }

  /// As often between 2 and 4 KiB as between 100 and 200.
  private mutating func nextByteCount() -> Int {
    let share = Double(random.next() >> 11) / Double(1 << 53)
    return Int(Self.smallestByteCount * pow(Self.spread, share))
  }
}

/// Hits from the map, beside LMDB's own look-ups.
extension Bench {
  /// More than is put for hits or puts, so that nothing is evicted.
  static let ampleBudgetByteCount: Int64 = 4 << 30
  private static let entryCount = 20_000
  private static let trialSeconds = 2.0

  private static let subjects: [StoreProcess.Subject] = [
    .store, .bare(.begun), .bare(.renewed), .bare(.copied),
  ]

  func measureStoreHits(into report: inout Report) throws {
    let count = options.scaled(Self.entryCount)
    let content = StoreContent.usual
    try note("storing \(count) thumbnails of \(content.pictureByteCount) bytes, twice")
    try content.fill(
      try ThumbnailStore(
        directory: directory(of: .store),
        access: .readWrite(budgetByteCount: Self.ampleBudgetByteCount)),
      with: 0..<count)
    try content.fill(
      try BareStore(
        directory: directory(of: .bare(.begun)), recordByteCount: content.bareRecord.count),
      with: 0..<count)
    for processCount in [1, 4] {
      for hasWriter in [false, true] {
        try measureHits(
          count: count, processCount: processCount, hasWriter: hasWriter, into: &report)
      }
    }
    for subject in [StoreProcess.Subject.store, .bare(.begun)] {
      try FileManager.default.removeItem(atPath: directory(of: subject))
    }
  }

  /// The ways of LMDB share one environment.
  private func directory(of subject: StoreProcess.Subject) -> String {
    options.workDirectory + (subject == .store ? "/hits-store" : "/hits-bare")
  }

  /// Rounds in which everybody has a turn, so that what disturbs the machine disturbs all.
  private func measureHits(
    count: Int, processCount: Int, hasWriter: Bool, into report: inout Report
  ) throws {
    let readers = processCount == 1 ? "1 process" : "\(processCount) processes"
    let title = "\(readers)\(hasWriter ? " and a writer" : "")"
    var trials = [[HitTrial]](repeating: [], count: Self.subjects.count)
    for round in 1...options.rounds {
      try note("hits, \(title), round \(round) of \(options.rounds)")
      for (index, subject) in Self.subjects.enumerated() {
        let trial = try trial(
          of: subject, count: count, processCount: processCount, hasWriter: hasWriter)
        trials[index].append(trial)
      }
    }
    for (subject, trials) in zip(Self.subjects, trials) {
      let name = "hit, \(title), \(subject.name)"
      let command = Self.command(of: subject)
      report.add("\(name)", Samples(trials.map(\.rate)), "/s", command: command)
      report.add("\(name): median", Samples(trials.map(\.median)), "µs", command: command)
      report.add("\(name): 99 %", Samples(trials.map(\.quantile99)), "µs", command: command)
    }
    for (subject, others) in zip(Self.subjects, trials).dropFirst() {
      let ratios = zip(trials[0], others).map { $0.median / $1.median }
      report.add(
        "hit, \(title), store : \(subject.name)", Samples(ratios), "×",
        command: "the medians of each round")
    }
  }

  private static func command(of subject: StoreProcess.Subject) -> String {
    switch subject {
    case .store: "ThumbnailStore.withThumbnail: facts, checksum and use included"
    case .bare(.begun): "mdb_txn_begin, mdb_get, mdb_txn_abort"
    case .bare(.renewed): "mdb_txn_renew, mdb_get, mdb_txn_reset"
    case .bare(.copied): "mdb_txn_begin, mdb_get, memcpy of the value, mdb_txn_abort"
    }
  }

  private func trial(
    of subject: StoreProcess.Subject, count: Int, processCount: Int, hasWriter: Bool
  ) throws -> HitTrial {
    let seconds = Self.trialSeconds / Double(options.isQuick ? 10 : 1)
    func start(
      _ act: StoreProcess.Act, seconds: Double, number: Int
    ) throws -> RunningStoreProcess {
      let process = StoreProcess(
        act, subject, in: directory(of: subject), count: count, seconds: seconds,
        seed: UInt64(number))
      let path = "\(options.workDirectory)/store-process-\(number)"
      return try RunningStoreProcess(process, outputPath: path)
    }
    // A reader first brings all pages into its map; the writer goes on until after its end.
    let writer = hasWriter ? try start(.write, seconds: 2 * seconds + 1, number: 0) : nil
    let readers = try (1...processCount).map { number in
      try start(.read, seconds: seconds, number: number)
    }
    let trials = try readers.map { reader in
      try JSONDecoder().decode(HitTrial.self, from: Data(try reader.finish()))
    }
    _ = try writer?.finish()
    return HitTrial(together: trials)
  }
}

/// What look-ups of stored keys, one after the other and in random order, cost one process.
struct HitTrial: Codable {
  /// Hits a second, nothing but hits.
  let rate: Double
  /// Hits that were timed one by one, in microseconds, with the time that reading the clock takes.
  let median: Double
  let quantile99: Double

  private static let blockCount = 256
  private static let maximumTimedCount = 500_000

  /// - Parameters:
  ///   - seconds: for how long.
  ///   - keys: of what is stored.
  ///   - hit: looks one up, and throws when it is not there.
  init<Key>(seconds: Double, keys: [Key], seed: UInt64, _ hit: (Key) throws -> Void) throws {
    var random = SeededGenerator(seed: seed)
    func next() -> Key { keys[Int(truncatingIfNeeded: random.next() >> 1) % keys.count] }
    // The pages come into the map at first touch; that is not what is measured.
    for key in keys { try hit(key) }

    let half = UInt64(seconds * 5e8)
    var count = 0
    let start = MonotonicClock.nanoseconds()
    repeat {
      for _ in 0..<Self.blockCount { try hit(next()) }
      count += Self.blockCount
    } while MonotonicClock.nanoseconds() - start < half
    rate = Double(count) * 1e9 / Double(MonotonicClock.nanoseconds() - start)

    var times: [Double] = []
    times.reserveCapacity(Self.maximumTimedCount)
    let end = MonotonicClock.nanoseconds() + half
    var last: UInt64
    repeat {
      let key = next()
      let begun = MonotonicClock.nanoseconds()
      try hit(key)
      last = MonotonicClock.nanoseconds()
      times.append(Double(last - begun) / 1_000)
    } while last < end && times.count < Self.maximumTimedCount
    let samples = Samples(times)
    (median, quantile99) = (samples.median, samples.quantile(0.99))
  }

  /// What several processes did at once: their hits together, and the slowest of their latencies.
  init(together trials: [HitTrial]) {
    rate = trials.reduce(0) { $0 + $1.rate }
    median = trials.reduce(0) { max($0, $1.median) }
    quantile99 = trials.reduce(0) { max($0, $1.quantile99) }
  }
}

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
    return try store.size().occupiedByteCount
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
