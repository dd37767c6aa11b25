import ImgModel
import SeededRandom
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Transfers under way, in the cluster and per host.
@Suite struct LimitTests {
  @Test func `the cluster's limit holds and slots are free at the last byte`() {
    let cluster = ClusterModel.started(transfers: 3)
    cluster.submit(spreadURLs(1...5))
    cluster.answerLookups()
    #expect(cluster.fetching == spreadURLs(1...3))
    cluster.transferred(url(2, host: "host2"))
    #expect(cluster.fetching == spreadURLs(1...4), "decoding takes no place")
    #expect(cluster.scheduler.transferCount == 3)
    cluster.finish(url(2, host: "host2"))
    #expect(cluster.scheduler.transferCount == 3, "a place is given back once")
  }

  @Test func `a transfer that fails before its last byte gives its slot back`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.submit(spreadURLs(1...2))
    cluster.answerLookups()
    cluster.finish(url(1, host: "host1"), .failure(.timeout))
    #expect(cluster.fetching == [url(2, host: "host2")])
  }

  @Test func `a host's limit holds and its URLs come back in order`() {
    let cluster = ClusterModel.started(perHost: 2)
    cluster.submit((1...5).map { url($0) })
    cluster.answerLookups()
    #expect(cluster.fetching == [url(1), url(2)])
    cluster.transferred(url(1))
    cluster.transferred(url(2))
    #expect(cluster.fetchStarts == (1...4).map { url($0) })
  }

  @Test func `a full host blocks no other`() {
    let cluster = ClusterModel.started(transfers: 4, perHost: 1)
    cluster.submit((1...50).map { url($0, host: "slow") } + spreadURLs(51...54))
    cluster.answerLookups()
    #expect(cluster.fetching == [url(1, host: "slow")] + spreadURLs(51...53))
  }

  /// Silent hosts hold every place that they get until their transfers time out.
  @Test func `however many hosts are slow, fast ones find slots`() {
    let cluster = ClusterModel.started(transfers: 16, perHost: 2)
    cluster.submit((1...9).map { url($0, host: "fast") })
    cluster.answerLookups()
    cluster.transferred(url(1, host: "fast"))
    cluster.submit((1...100).map { url($0, host: "slow\($0)") })
    cluster.answerLookups()
    for number in 2...8 {
      #expect(cluster.scheduler.transferCount == 16)
      cluster.transferred(url(number, host: "fast"))
      let next = min(number + 2, 9)
      #expect(cluster.fetching.contains(url(next, host: "fast")))
    }
  }

  @Test func `a lease that is attached late does not make a host responsive`() {
    let cluster = ClusterModel.started(transfers: 16, perHost: 2)
    cluster.submit((1...4).map { url($0) })
    cluster.answerLookups()
    cluster.advance(by: .seconds(50))
    cluster.view(url(1), variant: .small)
    cluster.answerLookups()
    cluster.transferred(url(1))
    #expect(cluster.scheduler.transferQueue.hosts["example.com"]?.isResponsive == false)
  }

  @Test func `a viewer's picture of an unknown host takes any slot`() {
    let cluster = ClusterModel.started(transfers: 16, perHost: 2)
    cluster.submit((1...100).map { url($0, host: "slow\($0)") })
    cluster.answerLookups()
    #expect(cluster.scheduler.transferCount == 14)
    for number in 1...3 { cluster.view(url(number, host: "other\(number)")) }
    cluster.answerLookups()
    #expect(cluster.scheduler.transferCount == 16)
  }

  @Test func `the ports and spellings of a host are one host`() {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.submit(["a:8080", "a:8081", "A", "a."].map { url(1, host: $0) })
    cluster.answerLookups()
    #expect(cluster.fetching.count == 1)
    cluster.finishEverything()
    #expect(cluster.fetchStarts.count == 4)
    #expect(cluster.peakPerHost == 1)
  }

  @Test func `a URL that is cancelled while its host is full does not strand the rest`() {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.submit([url(1), url(2)])
    let waiting = cluster.submit([url(3)])
    cluster.submit([url(4)])
    cluster.answerLookups()
    cluster.change(waiting, .cancel)
    cluster.finish(url(1))
    #expect(cluster.fetching == [url(4)], "the jobs in turn")
    cluster.finish(url(4))
    #expect(cluster.fetching == [url(2)])
  }

  @Test func `a job that waits for a slow host does not keep another from the rest`() {
    let cluster = ClusterModel.started(perHost: 2)
    cluster.areInvariantsChecked = false
    cluster.submit(count: 20_000) { url($0, host: "slow") }
    cluster.answerLookups()
    let other = cluster.submit(spreadURLs(1...100))
    while let next = cluster.fetching.first(where: { !$0.contains("slow") })
      ?? (cluster.lookupCount > 0 ? "" : nil)
    {
      if next.isEmpty { cluster.answerLookups() } else { cluster.finish(next) }
    }
    #expect(cluster.counts(other)?.done == 100)
    #expect(cluster.fetching.count == 2)
  }
}

@Suite struct PriorityQueueTests {
  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `keys leave in order whatever was moved or removed`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var queue = PriorityQueue<Int, Int>()
    var expected: [Int: Int] = [:]
    for _ in 0..<400 {
      let key = Int.random(in: 0..<60, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        queue.remove(key)
        expected[key] = nil
      case 1:
        let first = expected.min { $0.value < $1.value }?.key
        #expect(queue.removeFirst() == first, "seed \(seed)")
        if let first { expected[first] = nil }
      default:
        // Priorities are unequal, so that the order is one.
        let priority = Int.random(in: 0..<1_000, using: &random) * 60 + key
        queue.set(key, to: priority)
        expected[key] = priority
      }
      #expect(queue.count == expected.count, "seed \(seed)")
    }
    let order = expected.sorted { $0.value < $1.value }.map(\.key)
    #expect(order.map { _ in queue.removeFirst() } == order, "seed \(seed)")
    #expect(queue.isEmpty)
  }
}
