import ImgModel
import ImgSystem
import SeededRandom
import TestFiles
import Testing

@testable import ImgStore

/// The file of an environment without tables; `FileRoomTests` has the space of a store.
@Suite(.timeLimit(.minutes(20))) struct DataFileTests {
  private let directory = TestDirectory()
  private let environment: Environment
  private var file: DataFile { environment.dataFile }

  init() throws {
    var options = Environment.Options(content: .thumbnails)
    options.mapByteCount = 1 << 20
    environment = try Environment(directory: directory.path, options: options)
  }

  @Test func `a new file has its two pages at the start and lacks nothing`() throws {
    #expect(try file.byteCount() >= 2 * file.pageByteCount)
    #expect(try file.pagesByteCount() == 2 * file.pageByteCount)
    #expect(try file.missingByteCount() <= 0)
    #expect(file.diskSpace != nil)
  }

  @Test func `a file without its two pages at the start is damaged`() throws {
    try file.setByteCount(file.pageByteCount)
    let error = #expect(throws: StoreError.self) { try file.missingByteCount() }
    #expect(error?.code == .truncated)
    #expect(error?.reason == .damaged)
    #expect(error?.description.contains("\(file.pageByteCount) bytes") == true)
  }

  @Test func `a file that lacks pages is completed after a commit`() throws {
    let value = [UInt8](repeating: 1, count: 10 * file.pageByteCount)
    try environment.write { transaction throws(StoreError) in
      let database = try transaction.openDatabase("test", isCreated: true)
      try transaction.put(value, for: [1], in: database)
    }
    let complete = try file.pagesByteCount()
    #expect(complete > 10 * file.pageByteCount)
    try file.setByteCount(complete - file.pageByteCount)
    #expect(try file.missingByteCount() == file.pageByteCount)
    file.completeAfterCommit()
    #expect(try file.byteCount() == complete)
    file.completeAfterCommit()
    #expect(try file.byteCount() == complete)
  }

  @Test func `reserved space does not change the length`() throws {
    let byteCount = try file.byteCount()
    #expect(file.reservedByteCount(behind: byteCount) == 0)
    try file.reserve(byteCount..<byteCount + 100_000)
    #expect(try file.byteCount() == byteCount)
    #expect(file.reservedByteCount(behind: byteCount) == 100_000)
    #expect(file.reservedByteCount(behind: byteCount + 40_000) == 60_000)
    #expect(file.reservedByteCount(behind: byteCount + 200_000) == 0)
  }
}

@Suite(.timeLimit(.minutes(20))) struct FreeListTests {
  private let directory = TestDirectory()
  private let environment: Environment
  private var file: DataFile { environment.dataFile }

  init() throws {
    var options = Environment.Options(content: .thumbnails)
    options.mapByteCount = 64 << 20
    options.durability = .none
    environment = try Environment(directory: directory.path, options: options)
  }

  private func put(_ byteCount: Int, for key: [UInt8]) throws(StoreError) {
    try environment.write { transaction throws(StoreError) in
      let database = try transaction.openDatabase("test", isCreated: true)
      try transaction.put([UInt8](repeating: 1, count: byteCount), for: key, in: database)
    }
  }

  /// One entry with many pages, and many entries: while a reader has a snapshot, no page that a
  /// transaction frees is used again.
  private func free(entryCount: Int) throws {
    try put(3_000 * file.pageByteCount, for: [1])
    try put(1, for: [1])
    try environment.read { _ throws(StoreError) in
      for number in 0..<entryCount { try put(number % 100, for: [2]) }
    }
  }

  private var listedCount: Int {
    get throws {
      try environment.read { transaction throws(StoreError) in try transaction.freePageCount() }
    }
  }

  @Test func `a new file has no free pages`() throws {
    #expect(try FreeList(of: file).pages(from: 0) == [])
  }

  @Test(arguments: [1, 600])
  func `the list has the pages counted by LMDB, on a page or in a tree`(entryCount: Int) throws {
    try free(entryCount: entryCount)
    let count = try listedCount
    #expect(count > 3_000)
    let pages = try #require(try FreeList(of: file).pages(from: 0))
    #expect(pages.count == count)
    let first = try #require(pages.sorted().dropFirst(count / 2).first)
    #expect(try FreeList(of: file).pages(from: Int(first))?.count == count - count / 2)
  }

  @Test func `a list of which the file lacks a page is not read`() throws {
    try free(entryCount: 600)
    try file.setByteCount(2 * file.pageByteCount)
    #expect(try FreeList(of: file).pages(from: 0) == nil)
  }

  @Test(arguments: UInt64(0)..<20)
  func `a damaged list ends with pages of the file or without any`(seed: UInt64) throws {
    try free(entryCount: 600)
    var random = SeededGenerator(seed: seed)
    // Near the start of a page are the numbers that lead to others.
    for page in stride(from: 0, to: try file.byteCount(), by: file.pageByteCount) {
      let damage = [UInt8.random(in: 0...255, using: &random)]
      let offset = page + Int.random(in: 10..<200, using: &random)
      try FileIO.writeAll(try file.descriptor(), damage.span, at: offset)
    }
    _ = try FreeList(of: file).pages(from: 0)
  }
}

/// How long the data file is, beside what its pages demand.
@Suite(.timeLimit(.minutes(20))) struct FileRoomTests {
  private let directory = TestDirectory()
  private let store: ThumbnailStore

  init() throws {
    store = try ThumbnailStore(directory)
  }

  private var spareByteCount: Int {
    get throws {
      try store.environment.dataFile.byteCount() - store.environment.dataFile.pagesByteCount()
    }
  }

  private func put(_ numbers: Range<Int>, byteCount: Int) throws {
    try store.put(numbers.map { try NewThumbnail(large: $0, byteCount: byteCount) }, at: .now)
  }

  @Test func `small commits write into preallocated space`() throws {
    var lengths: Set<Int> = []
    for number in 0..<100 {
      try put(number..<number + 1, byteCount: 7_000)
      lengths.insert(try store.environment.dataFile.byteCount())
      #expect((0...320 << 10).contains(try spareByteCount))
    }
    // At least two pages a thumbnail, and 64 a step.
    #expect((2...8).contains(lengths.count))
    #expect(try store.bytes(ofPicture: 0)?.count == 7_000)
    #expect(try store.bytes(ofPicture: 99)?.count == 7_000)
    #expect(try store.defects().isEmpty)
  }

  @Test func `a large commit does not preallocate`() throws {
    for group in 0..<10 {
      // A hundred KiB and more.
      try put(group * 12..<group * 12 + 12, byteCount: 7_000)
      // Making the tables was a small commit, whose room the first groups use up.
      if group >= 3 { #expect(try spareByteCount == 0) }
    }
  }

  @Test func `the file does not grow beyond the map`() throws {
    let directory = TestDirectory()
    let mapByteCount = 512 << 10
    let store = try ThumbnailStore(
      directory: directory.path + "/store", access: .readWrite(budgetByteCount: 64 << 20),
      mapByteCount: mapByteCount)
    for number in 0..<300 {
      try store.put([NewThumbnail(large: number, byteCount: 7_000)], at: .now)
    }
    #expect(try store.environment.dataFile.byteCount() <= mapByteCount)
    #expect(try store.bytes(ofPicture: 299) != nil)
  }
}

/// What a store occupies, and how large its file becomes.
@Suite(.timeLimit(.minutes(20))) struct BudgetTests {
  private let directory = TestDirectory()

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `after every commit a store occupies no more than its budget`(seed: UInt64) throws {
    var run = BudgetRun(store: try ThumbnailStore(directory, budgetByteCount: 1 << 20), seed: seed)
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
      let summary = try store.size()
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

@Suite struct StoreBudgetTests {
  private static let mebibyte: Int64 = 1 << 20

  private func budget(
    file: Int64, free: Int64, of disk: Int64, configured: Int64 = 400
  ) -> StoreBudget {
    StoreBudget(
      configuredByteCount: configured * Self.mebibyte, fileByteCount: Int(file * Self.mebibyte),
      disk: DiskSpace(byteCount: disk * Self.mebibyte, freeByteCount: free * Self.mebibyte))
  }

  @Test func `a disk with enough space does not change the budget`() {
    let budget = budget(file: 10, free: 700, of: 4_000)
    #expect(!budget.isLimitedByDisk)
    #expect(budget.effectiveByteCount == 400 * Self.mebibyte)
  }

  @Test func `a disk of unknown size does not change the budget`() {
    let budget = StoreBudget(configuredByteCount: 1, fileByteCount: 2, disk: nil)
    #expect(budget.effectiveByteCount == 1)
    #expect(!budget.isLimitedByDisk)
  }

  @Test func `the budget is the size of the file plus the free space, less a margin and slack`() {
    // A sixteenth of the disk stays free.
    let small = budget(file: 40, free: 14, of: 64)
    #expect(small.isLimitedByDisk)
    #expect(small.effectiveByteCount == 40 * Self.mebibyte)
    // On a large one, 64 MiB.
    #expect(budget(file: 40, free: 74, of: 1 << 20).effectiveByteCount == 40 * Self.mebibyte)
  }

  @Test func `a file that grows into the free space does not change the budget`() {
    #expect(
      budget(file: 0, free: 90, of: 100).effectiveByteCount
        == budget(file: 60, free: 30, of: 100).effectiveByteCount)
  }

  @Test func `a full disk leaves the store its file`() {
    #expect(budget(file: 106, free: 0, of: 96).effectiveByteCount == 80 * Self.mebibyte)
    #expect(budget(file: 0, free: 0, of: 96).effectiveByteCount == 0)
  }
}
