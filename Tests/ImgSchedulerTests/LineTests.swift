import ImgModel
import ImgWire
import SeededRandom
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// How lists are read: in order, within bounds, nothing lost and nothing twice.
@Suite(.timeLimit(.minutes(20))) struct LineTests {
  /// Lines read and not taken up, over all cursors of a job.
  private func readCount(_ job: ActiveJob) -> Int {
    job.cursor.lines.count + job.deferred.hosts.values.reduce(0) { $0 + $1.lines.count }
  }

  @Test func `a line that the journal has lost fails, and nothing else of its list`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit(count: 3) { $0 == 1 ? nil : url($0) }
    #expect(cluster.finished().endedJobs[job]?.counts.done == 2)
    #expect(cluster.endedJobs[job]?.counts.failed == 1)
    #expect(cluster.journal.jobs[job]?.outcomes[1]?.outcome == .failed(.damagedList))
  }

  @Test func `without the headers of its job no line is fetched`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit(count: 3, lacksHeaders: true) { url($0) }
    #expect(cluster.finished().endedJobs[job]?.counts.failed == 3)
    #expect(cluster.journal.jobs[job]?.outcomes[0]?.outcome == .failed(.lostHeaders))
    #expect(cluster.fetchStarts == [])
  }

  private func isSlow(_ url: String) -> Bool { url.contains("//slow") }

  /// Ends the fetches of all but the slow hosts until none of those runs.
  private func workOffFastHosts(_ cluster: ClusterModel) {
    repeat {
      cluster.answerLookups()
      if let url = cluster.fetching.first(where: { !isSlow($0) }) { cluster.finish(url) }
    } while cluster.lookupCount > 0 || cluster.fetching.contains { !isSlow($0) }
  }

  @Test(arguments: [LineOrder.firstInFirstOut, .lastInFirstOut])
  func `a long backlog of a slow host holds no later line up`(order: LineOrder) throws {
    let cluster = ClusterModel.started(perHost: 2)
    cluster.areInvariantsChecked = false
    let slow = (0..<2_000).map { url($0, host: "slow") }
    let fast = (0..<150).map { url($0, host: "x\($0 / 15)") }
    let lines = order == .firstInFirstOut ? slow + fast : fast + slow
    let job = cluster.submit(lines, order: order)
    workOffFastHosts(cluster)
    #expect(Set(cluster.fetchStarts) == Set(fast + cluster.fetching))
    #expect(cluster.fetching.count == 2)
    #expect(cluster.counts(job)?.done == 150)
    let active = try #require(cluster.scheduler.jobs[job])
    #expect(active.inHand.count <= 64 + 2)
    #expect(readCount(active) <= 2_048)

    #expect(cluster.finished().fetchStarts.count == lines.count, "nothing twice")
    #expect(cluster.endedJobs[job]?.counts.done == lines.count)
    let slowStarts = cluster.fetchStarts.filter(isSlow)
    #expect(slowStarts == (order == .firstInFirstOut ? slow : slow.reversed()))
    #expect(try #require(cluster.journal.jobs[job]).readLineCount < 5 * lines.count)
  }

  @Test func `lines deferred for a slow host are never lost, whatever happens to it`() {
    let cluster = ClusterModel.started(perHost: 1)
    let lines = (0..<180).map { url($0, host: "slow") } + (0..<20).map { url($0, host: "x\($0)") }
    let job = cluster.submit(lines)
    workOffFastHosts(cluster)
    #expect(cluster.counts(job)?.done == 20)
    for number in 0..<5 { cluster.finish(url(number, host: "slow")) }
    cluster.changeLimits(perHost: 3)
    cluster.change(job, .pause)
    cluster.change(job, .resume)
    for worker in cluster.workers.keys { cluster.exit(worker, .killed("SIGKILL")) }
    #expect(cluster.finished().endedJobs[job]?.counts.done == 200)
  }

  @Test func `a host whose pictures are all stored is never saturated`() throws {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.areInvariantsChecked = false
    let urls = (0..<1_500).map { url($0) }
    cluster.prestore(urls)
    let job = cluster.submit(urls)
    let active = try #require(cluster.scheduler.jobs[job])
    #expect(active.deferred.hosts.isEmpty)
    #expect(cluster.finished().endedJobs[job]?.counts.fromCache == 1_500)
    #expect(cluster.journal.jobs[job]?.readLineCount == 1_500, "each line is read once")
  }

  @Test(arguments: [LineOrder.firstInFirstOut, .lastInFirstOut], [1, 3, 100])
  func `a list starts in its order from end to end`(order: LineOrder, hostCount: Int) {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.areInvariantsChecked = false
    let lines = (0..<600).map { url($0, host: "host\($0 % hostCount)") }
    let job = cluster.submit(lines, order: order)
    cluster.finishEverything()
    #expect(cluster.fetchStarts == (order == .firstInFirstOut ? lines : lines.reversed()))
    #expect(cluster.endedJobs[job]?.counts.done == lines.count)
  }

  @Test func `pauses in the middle lose nothing and repeat nothing`() {
    let cluster = ClusterModel.started(transfers: 6, perHost: 2)
    let lines = (0..<150).map { url($0, host: $0 < 90 ? "slow" : "x\($0 % 5)") }
    let job = cluster.submit(lines)
    for round in 0..<20 {
      cluster.answerLookups()
      for url in cluster.fetching.prefix(3) { cluster.finish(url) }
      cluster.change(job, .pause)
      let startCount = cluster.fetchStarts.count
      if round.isMultiple(of: 2) { cluster.finishEverything() }
      #expect(cluster.fetchStarts.count == startCount)
      cluster.change(job, .resume)
    }
    #expect(cluster.finished().fetchStarts.sorted() == lines.sorted())
    #expect(cluster.endedJobs[job]?.counts.done == 150)
  }

  @Test func `many jobs end, and what they have in common is fetched once`() {
    let cluster = ClusterModel.started(workers: 2, transfers: 8, perHost: 3)
    cluster.areInvariantsChecked = false
    let jobs = (0..<40).map { job in
      cluster.submit((0..<40).map { url((job * 13 + $0) % 500, host: "host\($0 % 7)") })
    }
    cluster.finishEverything()
    #expect(Set(cluster.fetchStarts).count == cluster.fetchStarts.count)
    #expect(jobs.allSatisfy { cluster.endedJobs[$0]?.counts.done == 40 })
    #expect(cluster.isIdle)
  }
}

/// Transfers are assigned in the order of the list, whichever worker answers first.
@Suite(.timeLimit(.minutes(20))) struct ListOrderTests {
  /// Which hosts the lines of a list have.
  enum Layout: CaseIterable {
    case oneHost, inBlocks, inTurn, mixed

    func host(of line: Int) -> Int {
      switch self {
      case .oneHost: 0
      case .inBlocks: line / 60
      case .inTurn: line % 7
      case .mixed: line * line % 11
      }
    }
  }

  private func lines(_ count: Int, _ layout: Layout) -> [String] {
    (0..<count).map { url($0, host: "host\(layout.host(of: $0))") }
  }

  /// Workers answer look-ups and end fetches in any order; no host has to wait for its own sake.
  @Test(arguments: Layout.allCases, [1, 2, 5])
  func `what has begun is always the front of the list`(layout: Layout, transfers: Int) {
    for (seed, order) in [LineOrder.firstInFirstOut, .lastInFirstOut].enumerated() {
      var random = SeededGenerator(seed: UInt64(seed))
      let cluster = ClusterModel.started(
        workers: 3, transfers: transfers, perHost: transfers,
        credits: Credits(lookups: 20, leases: 64, decodeQueueTarget: 8))
      let lines = lines(120, layout)
      let expected = order == .firstInFirstOut ? lines : lines.reversed()
      let job = cluster.submit(lines, order: order)
      while cluster.endedJobs[job] == nil {
        let lookingUp = cluster.workers.values.filter { !$0.lookups.isEmpty }.map(\.id).sorted()
        let isLookup = cluster.fetching.isEmpty || Bool.random(using: &random)
        if isLookup, let worker = lookingUp.randomElement(using: &random) {
          cluster.answerLookup(of: worker)
        } else if let url = cluster.fetching.randomElement(using: &random) {
          cluster.finish(url)
        }
        let begun = cluster.fetchStarts
        guard Set(begun) == Set(expected.prefix(begun.count)) else {
          Issue.record("\(begun.suffix(3)) begins out of order as number \(begun.count)")
          return
        }
      }
    }
  }

  /// Two workers, of which the second has answered and the first has not.
  private func halfAnswered(_ lines: [String]) throws -> (ClusterModel, JobID, WorkerID) {
    let cluster = ClusterModel.started(workers: 2)
    let job = cluster.submit(lines)
    let workers = cluster.workers.keys.sorted()
    let slow = try #require(
      workers.first { cluster.workers[$0]?.lookups.first?.items.first?.url == lines[0] })
    for worker in workers where worker != slow { cluster.answerLookup(of: worker) }
    return (cluster, job, slow)
  }

  private func heldURLs(_ cluster: ClusterModel) -> [String] {
    cluster.scheduler.work.all.filter { $0.stage == .behindEarlierLines }.map(\.url.text).sorted()
  }

  @Test func `a line that joins one behind another job's lines begins at once`() throws {
    let (cluster, _, _) = try halfAnswered(spreadURLs(0..<20))
    let waiting = try #require(heldURLs(cluster).first)
    cluster.submit([waiting])
    #expect(cluster.fetchStarts == [waiting])
  }

  @Test func `a line waits for the look-ups of those before it`() throws {
    let lines = spreadURLs(0..<20)
    let (cluster, job, slow) = try halfAnswered(lines)
    #expect(cluster.fetchStarts == [])
    #expect(!heldURLs(cluster).isEmpty)
    cluster.answerLookup(of: slow)
    #expect(Set(cluster.fetchStarts) == Set(lines))
    #expect(cluster.finished().endedJobs[job]?.counts.done == 20)
  }

  @Test func `hits wait for nothing`() throws {
    let lines = spreadURLs(0..<20)
    let cluster = ClusterModel.started(workers: 2)
    cluster.prestore(lines)
    let job = cluster.submit(lines)
    let worker = try #require(
      cluster.workers.values.first { $0.lookups.first?.items.first?.url != lines[0] })
    let count = try #require(worker.lookups.first?.items.count)
    cluster.answerLookup(of: worker.id)
    #expect(cluster.counts(job)?.done == count)
  }

  @Test func `a viewer waits for no line`() throws {
    let (cluster, _, _) = try halfAnswered(spreadURLs(0..<20))
    let held = try #require(heldURLs(cluster).last)
    cluster.view(held)
    #expect(cluster.fetchStarts == [held])
  }

  @Test func `a job waits for no line of another`() throws {
    let (cluster, _, slow) = try halfAnswered(spreadURLs(0..<20))
    cluster.submit(spreadURLs(100..<120))
    for worker in cluster.workers.keys.sorted() where worker != slow {
      while cluster.workers[worker]?.lookups.isEmpty == false {
        cluster.answerLookup(of: worker)
      }
    }
    let other = cluster.workers[slow]?.lookups.last?.items.map(\.url) ?? []
    let first = spreadURLs(100..<120).prefix { !other.contains($0) }
    #expect(Set(cluster.fetchStarts) == Set(first))
  }

  @Test func `a line waits for a worker that does not answer for a limited time only`() throws {
    let (cluster, _, _) = try halfAnswered(spreadURLs(0..<20))
    let held = heldURLs(cluster)
    cluster.advance(by: Scheduler.lookupPatience)
    #expect(cluster.fetchStarts.sorted() == held)
  }

  @Test func `lines that wait for others are paused, resumed and cancelled like any`() throws {
    let lines = spreadURLs(0..<20)
    let (cluster, job, _) = try halfAnswered(lines)
    cluster.change(job, .pause)
    #expect(heldURLs(cluster).isEmpty)
    cluster.change(job, .resume)
    #expect(cluster.finished().endedJobs[job]?.counts.done == 20)
    let (other, cancelled, _) = try halfAnswered(lines)
    other.change(cancelled, .cancel)
    other.finishEverything()
    #expect(other.endedJobs[cancelled]?.counts.cancelled == 20)
    #expect(other.isIdle)
  }

  @Test func `what a dead worker was looking up still goes first`() throws {
    let lines = spreadURLs(0..<20)
    let (cluster, job, slow) = try halfAnswered(lines)
    cluster.exit(slow, .killed("SIGKILL"))
    #expect(cluster.fetchStarts == [])
    #expect(cluster.finished().endedJobs[job]?.counts.done == 20)
  }

  @Test func `lines of a dead worker keep their turn among the jobs`() throws {
    let cluster = ClusterModel.started(transfers: 3)
    let worker = try #require(cluster.onlyWorker)
    cluster.submit([url(1), url(2), url(3)])
    cluster.submit([url(11), url(12), url(13)])
    cluster.answerLookup(of: worker)
    #expect(cluster.fetchStarts == [url(1), url(2), url(3)])
    cluster.areWorkersReadyAtOnce = false
    cluster.exit(worker, .killed("SIGKILL"))
    cluster.changeLimits(transfers: 1)
    // It has the slot until all look-ups are answered.
    cluster.view(url(20))
    cluster.ready(try #require(cluster.onlyWorker))
    cluster.endBackoffs()
    #expect(cluster.fetching == [url(20)])
    #expect(cluster.startsUntilIdle() == [1, 11, 2, 12, 3, 13])
  }
}

/// Positions as ranges, against a plain set.
@Suite struct PositionListTests {
  @Test func `neighbours are one range`() {
    var list = PositionList()
    for position in [5, 7, 6, 1, 0, 9] { list.insert(position) }
    #expect(list.rangeCount == 3)
    #expect(list.first == 0)
    #expect([0, 1, 5, 6, 7, 9].allSatisfy(list.contains))
    #expect(![2, 4, 8, 10].contains(where: list.contains))
  }

  @Test func `a prefix holds as many positions as wanted, or all`() {
    var list = PositionList()
    for position in [10, 11, 12, 20, 21, 5_000] { list.insert(position) }
    #expect(list.prefix(2) == [10..<12])
    #expect(list.prefix(4) == [10..<13, 20..<21])
    #expect(list.prefix(9) == [10..<13, 20..<22, 5_000..<5_001])
    #expect(PositionList().prefix(1).isEmpty)
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `whatever is inserted and removed, it holds what a set holds`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var list = PositionList()
    var set: Set<Int> = []
    for _ in 0..<2_000 {
      if Int.random(in: 0..<10, using: &random) > 0 {
        let position = Int.random(in: 0..<500, using: &random)
        if set.insert(position).inserted { list.insert(position) }
      } else {
        let start = Int.random(in: 0..<500, using: &random)
        let removed = start..<start + Int.random(in: 0..<60, using: &random)
        list.remove(removed)
        set.subtract(removed)
      }
      #expect(list.first == set.min())
    }
    #expect((0..<600).filter(list.contains) == set.sorted())
    let gaps = zip(set.sorted(), set.sorted().dropFirst()).count { $1 > $0 + 1 }
    #expect(list.rangeCount == (set.isEmpty ? 0 : gaps + 1))
  }
}

@Suite struct PositionHeapTests {
  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `the first position is the least of those that have not left`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var heap = PositionHeap()
    var expected: Set<Int> = []
    for _ in 0..<2_000 {
      let position = Int.random(in: 0..<300, using: &random)
      if Bool.random(using: &random) {
        heap.insert(position)
        expected.insert(position)
      } else {
        heap.remove(position)
        expected.remove(position)
      }
      #expect(heap.first == expected.min())
    }
  }

  @Test func `positions that leave behind one that stays are dropped`() {
    var heap = PositionHeap()
    heap.insert(0)
    for position in 1...10_000 {
      heap.insert(position)
      heap.remove(position)
    }
    #expect(heap.first == 0)
    #expect(heap.entries.count < 100)
  }
}
