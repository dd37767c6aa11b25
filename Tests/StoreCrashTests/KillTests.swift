import FoundationEssentials
import Glibc
import ImgSystem
import SeededRandom
import StoreCrashSupport
import TestCluster
import TestFiles
import Testing

/// Writers killed at random points of their writing. `IMGCTL_TEST_KILLS=500` kills more of them.
@Suite(.timeLimit(.minutes(20))) struct KillTests {
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

  private let directory = TestDirectory()
  private let budgetByteCount: Int64
  private var writers: [Writer]

  private static let numberCount = 120
  private static let mostCommits = 12
  /// About as long as a step takes.
  private static let mostDelayMicroseconds = 3_000
  /// Above the number of pictures that any round puts.
  private static let generationsInRound = 1_000_000

  init(isEvicting: Bool) throws {
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
    let store = try PictureStore(directory: storeDirectory, budgetByteCount: budgetByteCount)
    var findings = try store.defects()
    let contents = try store.contents().values
    for (index, seed) in seeds.enumerated() {
      findings += check(
        writer: index, seed: seed, commitCount: commitCounts[index], isAlone: seeds.count == 1,
        contents: contents.filter { writers[index].numbers.contains($0.number) })
    }
    // It goes on from there.
    let probe = Picture(number: Self.numberCount * writers.count, generation: 1, byteCount: 5_000)
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

/// A child process that uses a store, `imgcrashtest`, connected by its standard streams. It ends
/// with this object.
final class StoreChild {
  private let child: ChildProcess
  private let stream: OwnedDescriptor
  /// Received bytes that were not parsed yet.
  private var received: [UInt8] = []

  /// Much longer than any step, so that only a hanging process times out.
  private static let patience = Duration.seconds(60)

  struct Silence: Error {}
  struct Refusal: Error {
    let reason: String
  }

  init(_ arguments: String...) throws {
    var pair = try UnixSocket.pair()
    stream = pair.takeFirst()
    let theirs = pair.takeSecond()
    child = try ChildProcess.spawn(
      executable: try Programs.path(of: "imgcrashtest"), arguments: arguments,
      environment: ["SWIFT_BACKTRACE": "enable=no"],
      descriptors: [
        (parent: theirs.rawValue, child: STDIN_FILENO),
        (parent: theirs.rawValue, child: STDOUT_FILENO),
      ])
  }

  deinit {
    child.signal(SIGKILL)
    _ = child.waitForExit(until: .now + Self.patience)
  }

  func signal(_ signal: CInt) {
    child.signal(signal)
  }

  /// Kills it.
  ///
  /// - Returns: received bytes that were not parsed yet.
  func kill() throws -> [UInt8] {
    child.signal(SIGKILL)
    guard child.waitForExit(until: .now + Self.patience) == .signalled(SIGKILL) else {
      throw Refusal(reason: "it ended by itself, see its standard error")
    }
    while try receive() {}
    return received
  }

  /// Waits until it has said so many bytes in all.
  func waitForBytes(_ count: Int) throws {
    while received.count < count {
      guard try receive() else { throw Refusal(reason: "it ended, see its standard error") }
    }
  }

  /// How many bytes it has said until now.
  func byteCount() throws -> Int {
    while try UnixSocket.waitReadable(stream.rawValue, until: .now), try receive() {}
    return received.count
  }

  // MARK: - Orders

  func take(_ step: StoreStep) throws -> StepAnswer {
    try order(.step(step))
    return try answer()
  }

  /// Makes it keep a reader's snapshot until it is told something else, or ends.
  func hold(_ number: Int) throws {
    try order(.hold(number))
    _ = try answer()
  }

  func release() throws {
    try send([UInt8(ascii: "\n")])
    _ = try answer()
  }

  private func order(_ order: ChildCommand) throws {
    try send(Array(try JSONEncoder().encode(order)) + [UInt8(ascii: "\n")])
  }

  private func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      guard try UnixSocket.waitWritable(stream.rawValue, until: .now + Self.patience),
        let count = try UnixSocket.send(stream.rawValue, rest)
      else { throw Silence() }
      rest = rest.dropFirst(count)
    }
  }

  private func answer() throws -> StepAnswer {
    while true {
      if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
        let line = Data(received[..<end])
        received.removeSubrange(...end)
        switch try JSONDecoder().decode(ChildReply.self, from: line) {
        case .done(let answer): return answer
        case .failed(let reason): throw Refusal(reason: reason)
        }
      }
      guard try receive() else { throw Refusal(reason: "it ended, see its standard error") }
    }
  }

  /// - Returns: whether anything came; `false` at the end.
  private func receive() throws -> Bool {
    guard try UnixSocket.waitReadable(stream.rawValue, until: .now + Self.patience) else {
      throw Silence()
    }
    return try UnixSocket.receive(stream.rawValue, into: &received, upTo: 1 << 16) != .closed
  }
}

/// What a reader costs that does not end: it keeps what was freed since it began from being reused,
/// and nothing else, and that only while it lives.
@Suite(.timeLimit(.minutes(20))) struct LongReaderTests {
  private static let pictureCount = 50
  private static let pictureByteCount = 8_000
  private static let cycleCount = 20
  /// Pages of a cycle's records, indexes and free lists, over the bytes of its pictures.
  private static let overhead = 2.0

  @Test(arguments: [false, true])
  func `the file grows during a long read and is reused afterwards`(isKilled: Bool) throws {
    let directory = TestDirectory()
    let store = try PictureStore(directory: directory.file("store"), budgetByteCount: 64 << 20)
    let kept = Picture(number: Self.pictureCount, generation: 1, byteCount: 5_000)
    try store.put([kept], at: 0)
    let baseline = try churn(store)
    #expect(try churn(store) == baseline)

    let reader = try StoreChild("serve", directory.file("store"), "\(64 << 20)")
    try reader.hold(kept.number)
    let grown = try churn(store)
    let writtenByteCount = Double(Self.cycleCount * Self.pictureCount * Self.pictureByteCount)
    #expect(grown > baseline)
    #expect(Double(grown - baseline) <= Self.overhead * writtenByteCount)

    if isKilled {
      _ = try reader.kill()
      #expect(try store.clearDeadReaders() == 1)
    } else {
      try reader.release()
    }
    #expect(try churn(store) == grown)
    #expect(try churn(store) == grown)
    #expect(try store.defects() == [])
    print(
      "long reader: \(baseline) bytes of file without, \(grown) with one while "
        + "\(Int(writtenByteCount)) bytes of pictures were replaced, and no more afterwards")
  }

  @Test(arguments: [false, true])
  func `a stopped reader does not grow the file beyond its limit`(isStopped: Bool) throws {
    let budgetByteCount: Int64 = 10 << 20
    let directory = TestDirectory()
    let store = try PictureStore(
      directory: directory.file("store"), budgetByteCount: budgetByteCount)
    try store.put([Picture(number: 0, generation: 1, byteCount: 5_000)], at: 0)
    let reader = try StoreChild("serve", directory.file("store"), "\(budgetByteCount)")
    try reader.hold(0)
    if isStopped { reader.signal(SIGSTOP) }

    // Six budgets.
    var number = 0
    for _ in 0..<60 {
      let next = number..<number + 50
      number = next.upperBound
      try store.put(next.map { Picture(number: $0, generation: 1, byteCount: 20_000) }, at: 0)
    }
    let file = try store.figures().fileByteCount
    #expect(file <= budgetByteCount / 2 * 3 + 1 << 20)

    // It ends its read, and then reads what is there now.
    if isStopped { reader.signal(SIGCONT) }
    try reader.release()
    let answer = try reader.take(StoreStep(.look([number - 1]), at: 0))
    #expect(answer.found.map(\.number) == [number - 1])
    #expect(try store.defects() == [])
  }

  /// Replaces all pictures, again and again.
  ///
  /// - Returns: the length of the file.
  private func churn(_ store: PictureStore) throws -> Int64 {
    for generation in 0..<Self.cycleCount {
      try store.put(
        (0..<Self.pictureCount).map {
          Picture(number: $0, generation: generation, byteCount: Self.pictureByteCount)
        }, at: 0)
    }
    return try store.figures().fileByteCount
  }
}
