import FoundationEssentials
import ImgModel
import ImgStore
import ImgSystem

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
