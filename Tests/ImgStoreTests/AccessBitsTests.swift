import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// The file by itself; `SecondChanceTests` has its effect on eviction.
@Suite(.timeLimit(.minutes(20)))
struct AccessBitsTests {
  private let directory: TestDirectory

  init() throws {
    directory = try TestDirectory()
  }

  private func open(budgetByteCount: Int64) throws -> AccessBits {
    try #require(
      AccessBits.openOrCreate(directory: directory.path, budgetByteCount: budgetByteCount))
  }

  @Test(
    arguments: [
      (1, 1 << 16), (64 << 20, 1 << 16), (64 << 20 + 1024, 1 << 17), (400 << 20, 1 << 19),
      (1 << 40, 1 << 30), (.max, 1 << 30),
    ] as [(Int64, Int)])
  func `there is a slot for each KiB of the budget, within bounds`(
    budgetByteCount: Int64, slotCount: Int
  ) {
    #expect(AccessBits.slotCount(budgetByteCount: budgetByteCount) == slotCount)
  }

  @Test func `an access bit stays set until it is cleared`() throws {
    let bits = try open(budgetByteCount: 1)
    let (key, other) = (try ContentKey(picture: 1), try ContentKey(picture: 2))
    #expect(!bits.isSet(for: key))
    bits.set(for: key)
    #expect(bits.isSet(for: key))
    #expect(!bits.isSet(for: other))
    bits.clear(for: other)
    #expect(bits.isSet(for: key))
    bits.clear(for: key)
    #expect(!bits.isSet(for: key))
  }

  /// A store full of thumbnails of two pages each, with every nth one accessed.
  @Test(arguments: [(5, 50), (1, 12)])
  func `few accessed records lose their bit, and hardly any other record gets one`(
    nth: Int, mostOneIn: Int
  ) throws {
    let budget: Int64 = 64 << 20
    let bits = try open(budgetByteCount: budget)
    let keys = try (0..<Int(budget) / 8_192).map { try ContentKey(picture: $0) }
    for (number, key) in keys.enumerated() where number % nth == 0 { bits.set(for: key) }
    var (readCount, lostCount, falseCount) = (0, 0, 0)
    for (number, key) in keys.enumerated() {
      if number % nth == 0 {
        readCount += 1
        if !bits.isSet(for: key) { lostCount += 1 }
      } else if bits.isSet(for: key) {
        falseCount += 1
      }
    }
    #expect(lostCount * mostOneIn < readCount)
    #expect(falseCount * 500 < keys.count)
  }

  @Test func `a process continues with a larger file that replaced its own`() throws {
    let holder = try open(budgetByteCount: 1)
    let key = try ContentKey(picture: 1)
    var counters = StoreCounters()
    counters.hits = 3
    holder.add(counters)
    let larger = try open(budgetByteCount: 1 << 30)
    #expect(larger.slotCount == 1 << 20)
    #expect(larger.counters == counters)
    let largest = try open(budgetByteCount: 1 << 31)
    holder.set(for: key)
    holder.add(counters)
    #expect(largest.isSet(for: key))
    #expect(largest.counters.hits == 6)
    #expect(holder.counters == largest.counters)
    #expect(AccessBits(directory: directory.path)?.slotCount == largest.slotCount)
  }

  @Test func `a smaller budget keeps the file`() throws {
    let holder = try open(budgetByteCount: 1 << 30)
    let key = try ContentKey(picture: 1)
    holder.set(for: key)
    let smaller = try open(budgetByteCount: 1)
    #expect(smaller.slotCount == holder.slotCount)
    #expect(smaller.isSet(for: key))
  }
}
