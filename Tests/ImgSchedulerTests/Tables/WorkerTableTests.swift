import ImgModel
import ImgWire
import Testing

@testable import ImgScheduler

@Suite struct WorkerTableTests {
  private let now = ContinuousClock.now
  private var workers = WorkerTable(workerCount: 2)

  /// Both workers are ready.
  private mutating func start(
    _ credits: Credits = Credits(lookups: 2, leases: 3, decodeQueueTarget: 1)
  ) {
    for case .spawn(let worker, _) in workers.startAll(at: now) {
      #expect(workers.becameReady(worker, credits: credits) == true)
    }
  }

  private func lease(_ number: UInt64) -> LeaseID { LeaseID(rawValue: number) }
  private let first = WorkerID(rawValue: 1)
  private let second = WorkerID(rawValue: 2)

  @Test mutating func `a worker is ready once, and not after its exit`() {
    #expect(workers.startAll(at: now) == [.spawn(first, number: 0), .spawn(second, number: 1)])
    #expect(workers.isEmpty)
    let credits = Credits(lookups: 1, leases: 1, decodeQueueTarget: 1)
    #expect(workers.becameReady(first, credits: credits) == true)
    #expect(workers.becameReady(first, credits: credits) == false)
    #expect(workers.ids == [first])
    #expect(workers.remove(first)?.id == first)
    #expect(workers.remove(first) == nil)
    #expect(workers[first] == nil)
  }

  @Test mutating func `credits limit look-ups and leases apart from each other`() {
    start()
    for number in 1...2 { workers.hold(lease(UInt64(number)), as: .lookup, by: first) }
    #expect(workers[first]?.takesLookups == false)
    #expect(workers[first]?.takesFetchLeases == true)
    for number in 3...5 { workers.hold(lease(UInt64(number)), as: .attached, by: first) }
    #expect(workers[first]?.takesFetchLeases == false)
    workers.release(lease(1), of: first)
    workers.release(lease(3), of: first)
    #expect(workers[first]?.takesLookups == true)
    #expect(workers[first]?.takesFetchLeases == true)
    #expect(workers[second]?.lookups.isEmpty == true)
  }

  @Test mutating func `an attached lease costs nothing until its body is in`() {
    start(Credits(lookups: 1, leases: 9, decodeQueueTarget: 1))
    workers.hold(lease(1), as: .transfer, by: first)
    workers.hold(lease(2), as: .attached, by: first)
    #expect(workers[first]?.takesFetches(share: 1) == true)
    workers.bodyArrived(for: lease(2), at: first)
    #expect(workers[first]?.decodes == [lease(2)])
    #expect(workers[first]?.takesFetches(share: 1) == false)
  }

  @Test mutating func `a worker that was told to end takes nothing`() {
    start()
    workers.kill(first, because: .hung)
    #expect(workers[first]?.takesLookups == false)
    #expect(workers[first]?.takesFetchLeases == false)
    #expect(workers.contains(where: \.takesLookups), "the other one does")
  }

  @Test mutating func `what a worker's end tells depends on who killed it, and at what`() {
    start()
    #expect(workers[first]?.ending(by: .killed("")) == .killedIdle)
    workers.hold(lease(1), as: .lookup, by: first)
    #expect(workers[first]?.ending(by: .killed("")) == .killedAtWork)
    #expect(workers[first]?.ending(by: .crashed("")) == .failed)
    workers.kill(first, because: .overdue([lease(1)]))
    #expect(workers[first]?.ending(by: .killed("")) == .failed)
    #expect(workers[first]?.overdueLeases == [lease(1)])
  }

  @Test mutating func `a URL goes to its own worker unless that is full or much busier`() throws {
    start(Credits(lookups: 20, leases: 20, decodeQueueTarget: 1))
    let digest = RendezvousHash.digest("http://example.com/1")
    let own = try #require(
      workers.choose(digest: digest, where: { _ in true }, load: \.lookups.count))
    let other = own == first ? second : first
    for number in 1...4 { workers.hold(lease(UInt64(number)), as: .lookup, by: own) }
    #expect(workers.choose(digest: digest, where: \.takesLookups, load: \.lookups.count) == own)
    workers.hold(lease(5), as: .lookup, by: own)
    #expect(workers.choose(digest: digest, where: \.takesLookups, load: \.lookups.count) == other)
    #expect(workers.choose(digest: digest, where: { $0.id == other }, load: { _ in 0 }) == other)
    #expect(workers.choose(digest: digest, where: { _ in false }, load: { _ in 0 }) == nil)
  }

  @Test mutating func `answers after the exit change nothing`() {
    start()
    _ = workers.remove(first)
    workers.answered(first, at: now)
    workers.willEndFetches(1, queueCount: 0, share: 8, of: first)
    #expect(workers.ids == [second])
  }
}
