import FoundationEssentials
import Glibc
import ImgSystem
import SeededRandom
import StoreCrashSupport
import TestCluster
import TestFiles
import Testing

/// A random sequence of everything that can be done to a store, beside a dictionary.
@Suite(.timeLimit(.minutes(20))) struct ReferenceStoreTests {
  private static let stepCount = 150
  private static let stepsBetweenLooks = 10
  private static let seeds: [UInt64] = Array(0..<8)

  @Test(arguments: [StorePlan.Kind.everything, .evicting], seeds)
  func `the store agrees with a dictionary in one process`(
    kind: StorePlan.Kind, seed: UInt64
  ) throws {
    let directory = TestDirectory()
    var trial = ModelTrial(kind, seed: seed)
    var store = try SteppedStore(
      directory: directory.file("store"), budgetByteCount: trial.budgetByteCount)
    for number in 1...Self.stepCount {
      try trial.step(isLooking: number % Self.stepsBetweenLooks == 0) { try store.take($0) }
    }
    // Otherwise the budget would be none.
    if kind == .evicting { #expect(try store.opened().figures().evictionCount > 0) }
  }

  @Test(arguments: [StorePlan.Kind.everything, .evicting], seeds.prefix(2))
  func `the store agrees with a dictionary across three processes with kills`(
    kind: StorePlan.Kind, seed: UInt64
  ) throws {
    let directory = TestDirectory()
    var trial = ModelTrial(kind, seed: seed)
    var random = SeededGenerator(seed: seed &+ 1_000)
    let start = { [budgetByteCount = trial.budgetByteCount] in
      try StoreChild("serve", directory.file("store"), "\(budgetByteCount)")
    }
    var children = try (0..<3).map { _ in try start() }
    for number in 1...Self.stepCount {
      let index = Int.random(in: children.indices, using: &random)
      if random.next() % 16 == 0 {
        _ = try children[index].kill()
        children[index] = try start()
      }
      try trial.step(isLooking: number % Self.stepsBetweenLooks == 0) {
        try children[index].take($0)
      }
    }
  }
}

/// A plan beside the dictionary that it should come to.
struct ModelTrial {
  private let kind: StorePlan.Kind
  private let seed: UInt64
  private var plan: StorePlan
  private var model: ReferenceStore
  let budgetByteCount: Int64

  /// A commit lists the pages that it frees only after the store has measured itself.
  private static let commitByteCount: Int64 = 64 << 10

  init(_ kind: StorePlan.Kind, seed: UInt64) {
    self.kind = kind
    self.seed = seed
    let isEvicting = kind == .evicting
    budgetByteCount = isEvicting ? 128 << 10 : 64 << 20
    plan = StorePlan(kind, seed: seed, numbers: 0..<(isEvicting ? 160 : 40))
    model = ReferenceStore(isEvicting: isEvicting)
  }

  /// Takes a step, and compares what it found; and all there is, when looking.
  mutating func step(isLooking: Bool, _ take: (StoreStep) throws -> StepAnswer) throws {
    let step = plan.next()
    let answer = try take(step)
    model.apply(step)
    if case .look(let numbers) = step.action {
      let differences = model.differences(fromFound: answer.found, among: numbers, at: step.now)
      #expect(differences == [], "\(kind), seed \(seed)")
    }
    guard isLooking else { return }
    let all = try take(StoreStep(.contents, at: step.now))
    #expect(model.differences(fromContents: all.found) == [], "\(kind), seed \(seed)")
    #expect(all.defects == [], "\(kind), seed \(seed)")
    #expect(all.occupiedByteCount <= budgetByteCount + Self.commitByteCount)
    model.adopt(all.found)
  }
}

/// Readers and writers at once; `scripts/soak` does it for a minute, under the thread sanitiser.
@Suite(.timeLimit(.minutes(20))) struct SoakTests {
  @Test(arguments: [1, 2])
  func `eight readers and four writers a process see no inconsistency`(processCount: Int) throws {
    let directory = TestDirectory()
    let run = try ProgramRun(
      try Programs.path(of: "imgcrashtest"),
      [
        "soak", directory.file("store"), "--readers", "8", "--writers", "4",
        "--processes", "\(processCount)", "--operations", "150",
      ],
      environment: ["SWIFT_BACKTRACE": "enable=no"], in: directory)
    let result = try run.wait(atMost: .seconds(120))
    #expect(result.exitCode == 0, "\(result.output) \(result.messages)")
    #expect(result.output.contains("1200 reads, 600 writes"))
    #expect(result.output.contains("; 0 findings"))
  }
}

/// What is left of the data file when everything ends between any two writes: of a killed process,
/// all that it wrote; of a power cut, all that the disk was waited for, and of the rest anything.
@Suite(.timeLimit(.minutes(20))) struct CrashImageTests {
  private static let seeds: [UInt64] = [1, 2, 3]

  @Test(arguments: seeds)
  func `a crash between any two writes loses no commit`(seed: UInt64) throws {
    let recording = try StoreRecording(seed: seed)
    for length in 0...recording.events.count {
      let commitCount = recording.commitCount(before: length)
      let image = recording.image(after: length) { true }
      try recording.check(image, allowing: commitCount...commitCount + 1, "death \(length)")
    }
  }

  @Test(arguments: seeds)
  func `a power cut between any two writes loses at most the last commit`(seed: UInt64) throws {
    let recording = try StoreRecording(seed: seed)
    var random = SeededGenerator(seed: seed)
    for length in 0...recording.events.count {
      let commitCount = recording.commitCount(before: length)
      let image = recording.image(after: length) { random.next() % 2 == 0 }
      try recording.check(
        image, allowing: max(commitCount - 1, 0)...commitCount + 1, "power cut \(length)")
    }
  }
}

/// The writes of a plan, and what the store holds after each of its commits.
struct StoreRecording {
  /// Those of the data file, and the commits that wrote into it.
  let events: [WriteEvent]
  private let seed: UInt64
  private let beginning: [UInt8]
  /// The first is that before the first commit.
  private let models: [ReferenceStore]

  private static let stepCount = 10
  private static let budgetByteCount: Int64 = 64 << 20

  init(seed: UInt64) throws {
    let directory = TestDirectory()
    let path = directory.file("store")
    let script = CallScript(isRecording: true)
    var store = try SteppedStore(directory: path, budgetByteCount: Self.budgetByteCount)
    let beginning = try DataFile.bytes(in: path)
    var status = stat()
    try #require(unsafe stat(DataFile.path(in: path), &status) == 0)
    var plan = StorePlan(.writing, seed: seed, numbers: 0..<40)
    var models = [ReferenceStore(isEvicting: false)]
    var events: [WriteEvent] = []
    try script.run {
      for _ in 0..<Self.stepCount {
        let step = plan.next()
        let logLength = script.log.count
        _ = try store.take(step)
        let ofStep = script.log.dropFirst(logLength).filter { $0.isOf(status.st_ino) }
        // What changes nothing is committed without a write.
        guard ofStep.contains(where: \.isWrite) else { continue }
        events += ofStep
        var model = models[models.count - 1]
        model.apply(step)
        models.append(model)
      }
    }
    self.seed = seed
    self.beginning = beginning
    self.models = models
    self.events = events
  }

  func commitCount(before length: Int) -> Int {
    events.prefix(length).count(where: \.isCommitted)
  }

  /// The file after so many events.
  ///
  /// - Parameter isKept: asked of each change that the disk was not waited for.
  func image(after length: Int, keeping isKept: () -> Bool) -> [UInt8] {
    let happened = events.prefix(length)
    let safeLength =
      happened.lastIndex(where: \.isSynced).map { $0 + 1 } ?? 0
    var image = beginning
    for (index, event) in happened.enumerated() {
      switch event {
      case .write(_, let offset, let bytes, let isDurable):
        guard index < safeLength || isDurable || isKept() else { continue }
        extend(&image, to: offset + bytes.count)
        image.replaceSubrange(offset..<offset + bytes.count, with: bytes)
      case .extend(_, let byteCount):
        if index < safeLength || isKept() { extend(&image, to: byteCount) }
      case .synced, .committed:
        break
      }
    }
    return image
  }

  private func extend(_ image: inout [UInt8], to byteCount: Int) {
    guard image.count < byteCount else { return }
    image.append(contentsOf: repeatElement(0, count: byteCount - image.count))
  }

  /// Opens a store that is left with this file, and expects it to hold what it held after one of
  /// the commits, and to go on from there.
  func check(_ image: [UInt8], allowing commitCounts: ClosedRange<Int>, _ name: String) throws {
    let directory = TestDirectory()
    let path = directory.file("store")
    try DataFile.write(image, to: path)
    let trial = "seed \(seed), \(name) of \(events.count)"
    let store: PictureStore
    do {
      store = try PictureStore(directory: path, budgetByteCount: Self.budgetByteCount)
    } catch {
      Issue.record("\(trial): \(error)")
      return
    }
    #expect(try store.defects() == [], "\(trial)")
    let contents = try store.contents().values
    let allowed = models[commitCounts.clamped(to: models.indices.lowerBound...models.count - 1)]
    #expect(
      allowed.contains { $0.differences(fromContents: contents).isEmpty },
      "\(trial): \(allowed.map { $0.differences(fromContents: contents) })")
    let probe = Picture(number: 500, generation: 1, byteCount: 5_000)
    try store.put([probe], at: 0)
    #expect(try store.picture(probe.number, at: 0) == probe, "\(trial)")
    #expect(try store.defects() == [], "\(trial)")
  }
}

/// The data file of a store, as bytes.
enum DataFile {
  struct NotFound: Error {}

  private static let mostByteCount = 64 << 20

  static func path(in directory: String) -> String { "\(directory)/data.mdb" }

  static func bytes(in directory: String) throws -> [UInt8] {
    try FileIO.contents(of: path(in: directory), upTo: mostByteCount)
  }

  /// Makes a directory with nothing but this file.
  static func write(_ bytes: [UInt8], to directory: String) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    try Data(bytes).write(to: URL(filePath: path(in: directory)))
  }

  static func position(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
    Data(bytes).firstRange(of: Data(pattern))?.lowerBound
  }
}
