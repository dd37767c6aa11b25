import ImgModel
import Testing

@testable import ImgScheduler

@Suite struct LeaseTableTests {
  private let now = ContinuousClock.now
  private let item = WorkID(rawValue: 1)
  private let worker = WorkerID(rawValue: 1)
  private var leases = LeaseTable()

  @Test mutating func `leases are numbered from 1, and no number is used again`() {
    let first = leases.grantLookup(of: item, to: worker, at: now)
    #expect(leases.end(first, of: worker) != nil)
    let second = leases.grantLookup(of: item, to: worker, at: now)
    #expect([first.rawValue, second.rawValue] == [1, 2])
    #expect(leases.count == 1)
  }

  @Test mutating func `a lease has an item, a worker and the time it entered its stage`() throws {
    let id = leases.grantLookup(of: item, to: worker, at: now)
    let lease = try #require(leases[id])
    #expect(lease.item == item)
    #expect(lease.worker == worker)
    #expect(lease.since == now)
    leases.enterStage(id, at: now + .seconds(1))
    #expect(leases[id]?.since == now + .seconds(1))
  }

  @Test mutating func `a lease that begins a transfer names it, and others are attached`() {
    let first = leases.grantTransfer(of: item, to: worker, at: now)
    let transfer = TransferID(startedBy: first)
    let second = leases.grantAttached(
      of: WorkID(rawValue: 2), to: transfer, by: worker, at: now + .seconds(1))
    let lookup = leases.grantLookup(of: WorkID(rawValue: 3), to: worker, at: now)
    let decode = leases.grantDecode(of: WorkID(rawValue: 4), to: worker, at: now)
    #expect(leases[first]?.transfer == transfer)
    #expect(leases[second]?.transfer == transfer)
    #expect(leases[lookup]?.purpose == .lookup)
    #expect(leases[decode]?.purpose == .decode)
    #expect(leases[decode]?.transfer == nil)
    #expect(leases.oldestSince(of: [second, first]) == now)
    #expect(leases.oldestSince(of: [second]) == now + .seconds(1))
    #expect(leases.oldestSince(of: []) == nil)
  }

  @Test mutating func `an answer of another worker, or a second one, is late`() {
    let id = leases.grantLookup(of: item, to: worker, at: now)
    #expect(leases.end(id, of: WorkerID(rawValue: 2)) == nil)
    #expect(leases.lateAnswerCount == 1)
    #expect(leases.end(id, of: worker)?.item == item)
    #expect(leases.isEmpty)
    #expect(leases.end(id, of: worker) == nil)
    #expect(leases.lateAnswerCount == 2)
  }

  @Test mutating func `a look-up that takes too long is returned once`() {
    let ids = (1...3).map { leases.grantLookup(of: WorkID(rawValue: $0), to: worker, at: now) }
    for (index, id) in ids.enumerated() {
      leases.setLookupDeadline(now + .seconds(index + 1), of: id)
    }
    #expect(leases.lookupDeadline == now + .seconds(1))
    // It has answered before its deadline.
    #expect(leases.end(ids[0], of: worker) != nil)
    #expect(leases.takeOverdueLookups(at: now + .seconds(2)).map(\.item.rawValue) == [2])
    #expect(leases.takeOverdueLookups(at: now + .seconds(2)).isEmpty)
    #expect(leases.lookupDeadline == now + .seconds(3))
    #expect(leases.count == 2, "they still run")
  }
}
