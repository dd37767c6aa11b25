import ImgModel
import ImgWire
import SeededRandom
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

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
        credits: Credits(lookups: 40, leases: 128, decodeQueueTarget: 8))
      let lines = lines(240, layout)
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
    cluster.finishEverything()
    #expect(cluster.endedJobs[job]?.counts.done == 20)
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
    cluster.finishEverything()
    #expect(cluster.endedJobs[job]?.counts.done == 20)
    let (other, cancelled, _) = try halfAnswered(lines)
    other.change(cancelled, .cancel)
    other.finishEverything()
    #expect(other.endedJobs[cancelled]?.counts.cancelled == 20)
    #expect(other.scheduler.isIdle)
  }

  @Test func `what a dead worker was looking up still goes first`() throws {
    let lines = spreadURLs(0..<20)
    let (cluster, job, slow) = try halfAnswered(lines)
    cluster.exit(slow, .killed("SIGKILL"))
    #expect(cluster.fetchStarts == [])
    cluster.finishEverything()
    #expect(cluster.endedJobs[job]?.counts.done == 20)
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
