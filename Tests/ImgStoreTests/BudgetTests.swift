import ImgModel
import SeededRandom
import TestFiles
import Testing

@testable import ImgStore

/// What a store occupies, and how large its file becomes.
@Suite(.timeLimit(.minutes(20)))
struct BudgetTests {
  private let directory: TestDirectory

  init() throws {
    directory = try TestDirectory()
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `after every commit a store occupies no more than its budget`(seed: UInt64) throws {
    var run = BudgetRun(
      store: try ThumbnailStore(directory, budgetByteCount: 1 << 20), seed: seed)
    for _ in 0..<12 {
      try run.makeChanges(12)
      // The lists of freed pages grow while a reader keeps those from reuse.
      try run.makeChangesWhileRead(12)
    }
  }

  /// With thumbnails of up to a 200th of the budget.
  @Test(arguments: [1, 2] as [UInt64])
  func `a file with ten times the budget written stays within a quarter above the budget`(
    seed: UInt64
  ) throws {
    let budget: Int64 = 25 << 20
    let store = try ThumbnailStore(directory, budgetByteCount: budget)
    var churn = Churn(store: store, seed: seed)
    try churn.put(byteCount: 10 * budget)
    #expect(try fileByteCount(of: store) <= budget * 5 / 4)
  }

  @Test func `a reader grows the file by the puts during its snapshot`() throws {
    let budget: Int64 = 25 << 20
    let store = try ThumbnailStore(directory, budgetByteCount: budget)
    var churn = Churn(store: store, seed: 3)
    try churn.put(byteCount: 2 * budget)
    for _ in 0..<16 {
      let outcome = try store.environment.read { _ in
        Result { try churn.put(byteCount: budget / 2) }
      }
      try outcome.get()
    }
    #expect(try fileByteCount(of: store) <= budget * 5 / 4 + budget / 2)
  }

  private func fileByteCount(of store: ThumbnailStore) throws -> Int64 {
    try store.statistics(at: .now).fileByteCount
  }
}

/// Random changes of every kind. Each is followed by a check of the budget.
private struct BudgetRun {
  let store: ThumbnailStore
  private var random: SeededGenerator
  private var count = 0

  init(store: ThumbnailStore, seed: UInt64) {
    self.store = store
    random = SeededGenerator(seed: seed)
  }

  mutating func makeChangesWhileRead(_ changeCount: Int) throws {
    let outcome = try store.environment.read { _ in Result { try makeChanges(changeCount) } }
    try outcome.get()
  }

  mutating func makeChanges(_ changeCount: Int) throws {
    for _ in 0..<changeCount {
      try makeChange()
      let summary = try store.summary()
      #expect(summary.occupiedByteCount <= summary.budgetByteCount)
    }
  }

  private mutating func makeChange() throws {
    switch Int.random(in: 0..<20, using: &random) {
    case 0: if Bool.random(using: &random) { try store.reset() }
    case 1: _ = try store.removeExpired(at: .now(plusSeconds: 1), limit: 64)
    case 2...4:
      let keys = try (0..<Int.random(in: 1...20, using: &random)).map { _ in
        try ContentKey(picture: Int.random(in: 0...count, using: &random))
      }
      _ = try store.remove(keys)
    case 5...6: for _ in 0..<40 { _ = try store.bytes(ofPicture: anyPicture()) }
    default: try put()
    }
  }

  private mutating func anyPicture() -> Int {
    Int.random(in: max(0, count - 300)...count, using: &random)
  }

  /// Now and then more at once than there is room for, which is refused.
  private mutating func put() throws {
    let most = [600, 2_000, 6_000, 60_000].randomElement(using: &random) ?? 600
    let group = try (0..<Int.random(in: 1...24, using: &random)).map { number in
      try NewThumbnail(
        large: count + number, byteCount: Int.random(in: 1...most, using: &random),
        expiresAt: .now(plusSeconds: Int64.random(in: 0...9, using: &random)))
    }
    count += group.count
    do throws(StoreError) {
      try store.put(group, at: .now)
    } catch {
      guard error.isFull else { throw error }
      #expect(group.reduce(0) { $0 + $1.bytes.count } > 1 << 19)
    }
  }
}

/// Puts thumbnails of mixed sizes, each new, in groups.
private struct Churn {
  let store: ThumbnailStore
  private var random: SeededGenerator
  private var count = 0

  init(store: ThumbnailStore, seed: UInt64) {
    self.store = store
    random = SeededGenerator(seed: seed)
  }

  mutating func put(byteCount: Int64) throws {
    var left = byteCount
    while left > 0 {
      let group = try (count..<count + 32).map { number in
        // As many between 2 and 4 KiB as between 64 and 128.
        let most = 4_096 << Int.random(in: 0..<6, using: &random)
        return try NewThumbnail(
          large: number, byteCount: Int.random(in: most / 2...most, using: &random))
      }
      try store.put(group, at: .now)
      count += group.count
      left -= group.reduce(0) { $0 + Int64($1.bytes.count) }
    }
  }
}
