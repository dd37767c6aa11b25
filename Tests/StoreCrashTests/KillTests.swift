import SeededRandom
import StoreCrashSupport
import TestCluster
import TestFiles
import Testing

/// Writers killed at random points of their writing. `IMGCTL_TEST_KILLS=500` kills more of them.
@Suite(.timeLimit(.minutes(20)))
struct KillTests {
  private static let killsInOneStore = 10

  @Test func `a killed writer loses no commit and leaves an intact store`() throws {
    var random = SeededGenerator(seed: CrashTestSettings.seed)
    var killCount = 0
    var commitCount = 0
    var evictionCount: UInt64 = 0
    while killCount < CrashTestSettings.killCount {
      var run = try KillRun(isEvicting: random.next() % 3 == 0)
      for _ in 0..<Self.killsInOneStore where killCount < CrashTestSettings.killCount {
        let round = try run.round(&random)
        killCount += round.killCount
        commitCount += round.commitCount
        try #require(
          round.findings == [],
          "IMGCTL_TEST_SEED=\(CrashTestSettings.seed), kill \(killCount)")
      }
      evictionCount += try run.evictionCount()
    }
    print(
      "kills, seed \(CrashTestSettings.seed): \(killCount) kills after \(commitCount) commits and "
        + "\(evictionCount) evictions")
  }
}

/// The kills of writers of one store, and what the store has to hold after each.
struct KillRun {
  private struct Writer {
    let numbers: Range<Int>
    var model: ReferenceStore
    var generation = 0
  }

  struct Round {
    var killCount = 0
    var commitCount = 0
    var findings: [String] = []
  }

  private let directory: TestDirectory
  private let budgetByteCount: Int64
  private var writers: [Writer]

  private static let numberCount = 120
  private static let mostCommits = 12
  /// About as long as a step takes.
  private static let mostDelayMicroseconds = 3_000
  /// Above the number of pictures that any round puts.
  private static let generationsInRound = 1_000_000

  init(isEvicting: Bool) throws {
    directory = try TestDirectory()
    budgetByteCount = isEvicting ? 128 << 10 : 64 << 20
    writers = (0..<2).map { index in
      Writer(
        numbers: index * Self.numberCount..<(index + 1) * Self.numberCount,
        model: ReferenceStore(isEvicting: isEvicting))
    }
  }

  private var storeDirectory: String { directory.file("store") }

  /// Starts one writer or two, kills them one after the other, and looks at the store.
  mutating func round(_ random: inout SeededGenerator) throws -> Round {
    let count = random.next() % 3 == 0 ? 2 : 1
    let seeds = (0..<count).map { _ in random.next() >> 1 }
    let children = try seeds.indices.map { try start($0, seed: seeds[$0]) }
    var round = Round()
    var commitCounts: [Int] = []
    for (index, child) in children.enumerated() {
      // The second goes on after the death of the first: a step that it began then has ended.
      let earlier = index == 0 ? 0 : try child.byteCount() + 2
      try child.waitForBytes(earlier + Int.random(in: 0...Self.mostCommits, using: &random))
      waste(microseconds: Int.random(in: 0...Self.mostDelayMicroseconds, using: &random))
      // The first byte told that the store was open.
      commitCounts.append(max(try child.kill().count - 1, 0))
      round.killCount += 1
    }
    round.commitCount = commitCounts.reduce(0, +)
    round.findings = try findings(seeds: seeds, commitCounts: commitCounts)
    return round
  }

  /// How many pictures were evicted in all.
  func evictionCount() throws -> UInt64 {
    try PictureStore(directory: storeDirectory, budgetByteCount: budgetByteCount)
      .figures().evictionCount
  }

  private func start(_ index: Int, seed: UInt64) throws -> StoreChild {
    try StoreChild(
      "write", storeDirectory, "\(budgetByteCount)", "\(seed)",
      "\(writers[index].numbers.lowerBound)", "\(Self.numberCount)",
      "\(writers[index].generation)")
  }

  /// Makes the moment of a kill fall anywhere in a step; a wait would be as coarse as one.
  private func waste(microseconds: Int) {
    let end = ContinuousClock.now + .microseconds(microseconds)
    while ContinuousClock.now < end {}
  }

  // MARK: - Checks

  private mutating func findings(seeds: [UInt64], commitCounts: [Int]) throws -> [String] {
    let store = try PictureStore(
      directory: storeDirectory, budgetByteCount: budgetByteCount)
    var findings = try store.defects()
    let contents = try store.contents().values
    for (index, seed) in seeds.enumerated() {
      findings += check(
        writer: index, seed: seed, commitCount: commitCounts[index], isAlone: seeds.count == 1,
        contents: contents.filter { writers[index].numbers.contains($0.number) })
    }
    // It goes on from there.
    let probe = Picture(
      number: Self.numberCount * writers.count, generation: 1, byteCount: 5_000)
    try store.put([probe], at: 0)
    if try store.picture(probe.number, at: 0) != probe { findings.append("nothing can be put") }
    try store.remove([probe.number])
    for index in writers.indices {
      writers[index].generation += Self.generationsInRound
      // The check may have evicted, and each writer may remove pictures of the other.
      let contents = try store.contents().values
      writers[index].model.loosen { _ in budgetByteCount < 1 << 20 }
      writers[index].model.adopt(contents)
    }
    return findings
  }

  /// The step that was under way has happened or not, as a whole.
  private mutating func check(
    writer index: Int, seed: UInt64, commitCount: Int, isAlone: Bool, contents: [Picture]
  ) -> [String] {
    var plan = StorePlan(
      .writing, seed: seed, numbers: writers[index].numbers,
      firstGeneration: writers[index].generation)
    var before = writers[index].model
    for _ in 0..<commitCount { before.apply(plan.next()) }
    var after = before
    after.apply(plan.next())
    if !isAlone {
      // The other cleans what is short-lived, and evicts.
      let isEvicting = budgetByteCount < 1 << 20
      before.loosen { isEvicting || $0.expiresAt == StorePlan.shortExpiry }
      after.loosen { isEvicting || $0.expiresAt == StorePlan.shortExpiry }
    }
    let differences = before.differences(fromContents: contents)
    let isAfter = after.differences(fromContents: contents).isEmpty
    writers[index].model = isAfter ? after : before
    return isAfter ? [] : differences
  }
}
