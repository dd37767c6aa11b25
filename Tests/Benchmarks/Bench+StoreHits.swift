import FoundationEssentials
import ImgStore

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
