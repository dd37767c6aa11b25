import SeededRandom
import StoreCrashSupport
import TestCluster
import TestFiles
import Testing

/// A random sequence of everything that can be done to a store, beside a dictionary.
@Suite(.timeLimit(.minutes(20)))
struct ReferenceStoreTests {
  private static let stepCount = 150
  private static let stepsBetweenLooks = 10
  private static let seeds: [UInt64] = Array(0..<8)

  @Test(arguments: [StorePlan.Kind.everything, .evicting], seeds)
  func `the store agrees with a dictionary in one process`(
    kind: StorePlan.Kind, seed: UInt64
  ) throws {
    let directory = try TestDirectory()
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
    let directory = try TestDirectory()
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
  mutating func step(
    isLooking: Bool, _ take: (StoreStep) throws -> StepAnswer
  ) throws {
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
