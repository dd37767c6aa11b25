import ImgModel
import Testing

@testable import ImgWorker

/// How long puts wait for others.
@Suite struct GatheredPutsTests {
  private let now = ContinuousClock.now
  private var puts = GatheredPuts()

  private mutating func add(_ lease: UInt64, isUrgent: Bool = false, after delay: Duration = .zero)
  {
    puts.add(
      StorePut(lease: LeaseID(rawValue: lease), records: [], accesses: [], thumbnail: []),
      isUrgent: isUrgent, at: now + delay)
  }

  @Test mutating func `a put of a list waits for others, counted from the first`() {
    #expect(!puts.isDue(amongLeases: 0, at: now))
    add(1)
    add(2, after: .milliseconds(3))
    #expect(puts.deadline == now + GatheredPuts.longestWait)
    #expect(!puts.isDue(amongLeases: 3, at: now))
    #expect(puts.isDue(amongLeases: 3, at: now + GatheredPuts.longestWait))
  }

  @Test mutating func `a put that a client waits for takes the others along`() {
    add(1)
    add(2, isUrgent: true)
    add(3)
    #expect(puts.isDue(amongLeases: 9, at: now))
    #expect(puts.take().map(\.lease.rawValue) == [1, 2, 3])
    #expect(puts.deadline == nil)
    #expect(puts.take().isEmpty)
  }

  @Test mutating func `puts do not wait when no other lease could bring one`() {
    add(1)
    #expect(!puts.isDue(amongLeases: 2, at: now))
    #expect(puts.isDue(amongLeases: 1, at: now))
  }

  @Test mutating func `puts do not wait when they fill a transaction`() {
    for lease in 1..<UInt64(StoreWriter.groupMaximum) { add(lease) }
    #expect(!puts.isDue(amongLeases: 1_000, at: now))
    add(1_000)
    #expect(puts.isDue(amongLeases: 1_000, at: now))
  }
}
