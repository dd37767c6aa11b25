import ImgModel
import ImgWire
import SeededRandom
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Transfers under way, in the cluster and per host.
@Suite struct LimitTests {
  @Test func `the cluster's limit holds and slots are free at the last byte`() {
    let cluster = ClusterModel.started(transfers: 3)
    cluster.answeringLookups { $0.submit(spreadURLs(1...5)) }
    #expect(cluster.fetching == spreadURLs(1...3))
    cluster.transferred(url(2, host: "host2"))
    #expect(cluster.fetching == spreadURLs(1...4), "decoding takes no place")
    #expect(cluster.scheduler.transferCount == 3)
    cluster.finish(url(2, host: "host2"))
    #expect(cluster.scheduler.transferCount == 3, "a place is given back once")
  }

  @Test func `a transfer that fails before its last byte gives its slot back`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.answeringLookups { $0.submit(spreadURLs(1...2)) }
    cluster.finish(url(1, host: "host1"), .failure(.timeout))
    #expect(cluster.fetching == [url(2, host: "host2")])
  }

  @Test func `a host's limit holds and its URLs come back in order`() {
    let cluster = ClusterModel.started(perHost: 2)
    cluster.answeringLookups { $0.submit((1...5).map { url($0) }) }
    #expect(cluster.fetching == [url(1), url(2)])
    cluster.transferred(url(1))
    cluster.transferred(url(2))
    #expect(cluster.fetchStarts == (1...4).map { url($0) })
  }

  /// Silent hosts hold every place that they get until their transfers time out.
  @Test func `however many hosts are slow, fast ones find slots`() {
    let cluster = ClusterModel.started(transfers: 16, perHost: 2)
    cluster.answeringLookups { $0.submit((1...9).map { url($0, host: "fast") }) }
    cluster.transferred(url(1, host: "fast"))
    cluster.answeringLookups { $0.submit((1...100).map { url($0, host: "slow\($0)") }) }
    for number in 2...8 {
      #expect(cluster.scheduler.transferCount == 16)
      cluster.transferred(url(number, host: "fast"))
      let next = min(number + 2, 9)
      #expect(cluster.fetching.contains(url(next, host: "fast")))
    }
  }

  @Test func `a lease that is attached late does not make a host responsive`() {
    let cluster = ClusterModel.started(transfers: 16, perHost: 2)
    cluster.answeringLookups { $0.submit((1...4).map { url($0) }) }
    cluster.advance(by: .seconds(50))
    cluster.answeringLookups { $0.view(url(1), variant: .small) }
    cluster.transferred(url(1))
    #expect(cluster.scheduler.fetches.queue.hosts["example.com"]?.isResponsive == false)
  }

  @Test func `a host whose transfer was held is responsive, if it was soon over without that`() {
    let cluster = ClusterModel.started(transfers: 16, perHost: 2)
    cluster.answeringLookups { $0.submit((1...4).map { url($0) }) }
    cluster.advance(by: .seconds(50))
    cluster.hold(url(1), for: .seconds(49))
    cluster.transferred(url(1))
    #expect(cluster.scheduler.fetches.queue.hosts["example.com"]?.isResponsive == true)
  }

  @Test func `a viewer's picture of an unknown host takes any slot`() {
    let cluster = ClusterModel.started(transfers: 16, perHost: 2)
    cluster.answeringLookups { $0.submit((1...100).map { url($0, host: "slow\($0)") }) }
    #expect(cluster.scheduler.transferCount == 14)
    for number in 1...3 { cluster.view(url(number, host: "other\(number)")) }
    cluster.answerLookups()
    #expect(cluster.scheduler.transferCount == 16)
  }

  @Test func `the ports and spellings of a host are one host`() {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.answeringLookups {
      $0.submit(["a:8080", "a:8081", "A", "a."].map { url(1, host: $0) })
    }
    #expect(cluster.fetching.count == 1)
    #expect(cluster.finished().fetchStarts.count == 4)
    #expect(cluster.peakPerHost == 1)
  }

  @Test func `a URL that is cancelled while its host is full does not strand the rest`() {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.submit([url(1), url(2)])
    let waiting = cluster.submit([url(3)])
    cluster.answeringLookups { $0.submit([url(4)]) }
    cluster.change(waiting, .cancel)
    cluster.finish(url(1))
    #expect(cluster.fetching == [url(4)], "the jobs in turn")
    cluster.finish(url(4))
    #expect(cluster.fetching == [url(2)])
  }
}

@Suite struct NumberedTableTests {
  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `elements are found whatever was set, changed or removed`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var table = NumberedTable<WorkID, [Int]>()
    var expected: [WorkID: [Int]] = [:]
    for step in 0..<2_000 {
      // Few numbers, so that most are met again, some of them far from the others.
      let number = UInt64.random(in: 0..<90, using: &random)
      let key = WorkID(rawValue: number.isMultiple(of: 9) ? .max - number : number)
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1: #expect(table.remove(key) == expected.removeValue(forKey: key), "seed \(seed)")
      case 2:
        table.changeIfPresent(key) { $0.append(step) }
        expected[key]?.append(step)
      default:
        table.set(key, to: [step])
        expected[key] = [step]
      }
      #expect(table[key] == expected[key], "seed \(seed)")
    }
    #expect(Dictionary(uniqueKeysWithValues: table.map { $0 }) == expected, "seed \(seed)")
    #expect(table.count == expected.count && table.isEmpty == expected.isEmpty)
    for (key, value) in expected { #expect(table.read(key) { $0.count } == value.count) }
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

/// How often transfers from one host may begin, and limits that change meanwhile.
@Suite struct RateTests {
  private func starts(_ cluster: ClusterModel, at host: String) -> Int {
    cluster.fetchStarts.count { $0.contains("//\(host)/") }
  }

  /// Two transfers a second for each host; ten URLs wait at one.
  private func cluster(ratePerMinute: Int = 120) -> ClusterModel {
    let cluster = ClusterModel.started(ratePerMinute: ratePerMinute)
    cluster.answeringLookups { $0.submit((1...10).map { url($0, host: "a") }) }
    return cluster
  }

  @Test(arguments: [(30, 1, 2_000), (60, 1, 1_000), (120, 2, 500), (240, 4, 250)])
  func `a second's worth begins at once, then one an interval`(
    ratePerMinute: Int, burst: Int, interval: Int
  ) {
    let cluster = cluster(ratePerMinute: ratePerMinute)
    #expect(starts(cluster, at: "a") == burst)
    for more in 1...3 {
      for url in cluster.fetching { cluster.finish(url) }
      #expect(starts(cluster, at: "a") == burst + more - 1, "a free place is no token")
      #expect(cluster.scheduler.deadline == cluster.now.instant + .milliseconds(interval))
      cluster.advance(by: .milliseconds(interval - 1))
      cluster.handle(.timePassed)
      #expect(starts(cluster, at: "a") == burst + more - 1)
      cluster.advance(by: .milliseconds(1))
      #expect(starts(cluster, at: "a") == burst + more)
    }
  }

  @Test(arguments: [(0, 60, 1_000), (30, 60, 2_000), (60, 30, 2_000)])
  func `the lower of a job's rate and the cluster's holds`(
    cluster: Int, job: Int, interval: Int
  ) {
    let cluster = ClusterModel.started(ratePerMinute: cluster)
    cluster.answeringLookups {
      $0.submit((1...10).map { url($0, host: "a") }, ratePerMinute: job)
    }
    for count in 1...4 {
      #expect(starts(cluster, at: "a") == count)
      cluster.advance(by: .milliseconds(interval - 1))
      #expect(starts(cluster, at: "a") == count)
      cluster.advance(by: .milliseconds(1))
    }
  }

  @Test(arguments: [0, 600])
  func `the rate of a job delays no viewer, no other job and no other host`(cluster: Int) {
    let cluster = ClusterModel.started(ratePerMinute: cluster)
    cluster.answeringLookups {
      $0.submit((1...4).map { url($0, host: "a") } + [url(5, host: "b")], ratePerMinute: 60)
    }
    #expect(starts(cluster, at: "a") == 1)
    #expect(starts(cluster, at: "b") == 1)
    cluster.answeringLookups {
      $0.view(url(8, host: "a"))
      $0.submit((9...10).map { url($0, host: "a") })
    }
    #expect(starts(cluster, at: "a") == 4)
    cluster.advance(by: .seconds(1))
    #expect(starts(cluster, at: "a") == 5)
    cluster.finishEverything()
    for _ in 1...3 { cluster.advance(by: .seconds(1)) }
    #expect(cluster.finished().scheduler.fetches.queue.host("b") == nil)
  }

  /// The robots.txt is known that the first transfer asks for.
  private func askForDelay(_ seconds: Int, of host: String, _ cluster: ClusterModel) throws {
    let updates = HostUpdates(
      robotsKnown: cluster.fetch(of: url(1, host: host)).map { [$0.1.lease] } ?? [],
      crawlDelays: [CrawlDelay(of: host, .seconds(seconds))])
    cluster.handle(.fromWorker(try #require(cluster.onlyWorker), .hostUpdates(updates)))
  }

  private func wait(for host: String, _ cluster: ClusterModel) -> Wait? {
    cluster.scheduler.waitingHosts(at: cluster.now.instant).named.first { $0.host == host }
  }

  @Test func `a host that asks for a crawl delay has it between its starts, or a lower rate`()
    throws
  {
    let cluster = ClusterModel.started(ratePerMinute: 60)
    cluster.answeringLookups {
      $0.submit(
        (1...4).map { url($0, host: "a") } + [url(9, host: "b")], fetch: Self.obedient)
    }
    #expect(starts(cluster, at: "a") == 1)
    try askForDelay(10, of: "a", cluster)
    cluster.advance(by: .milliseconds(9_999))
    #expect(starts(cluster, at: "a") == 1)
    #expect(wait(for: "a", cluster)?.kind == .crawlDelay)
    #expect(wait(for: "a", cluster)?.detail == "a asks for 10 s between requests")
    cluster.advance(by: .milliseconds(1))
    #expect(starts(cluster, at: "a") == 2)
    // Told again, it changes nothing.
    try askForDelay(10, of: "a", cluster)
    cluster.advance(by: .seconds(10))
    #expect(starts(cluster, at: "a") == 3)
    cluster.changeLimits(LimitChange(hostRatePerMinute: 1))
    cluster.advance(by: .seconds(20))
    #expect(starts(cluster, at: "a") == 3)
  }

  @Test func `requests that respect no robots do not keep those waiting that do`() throws {
    let cluster = ClusterModel.started()
    let worker = try #require(cluster.onlyWorker)
    cluster.answeringLookups {
      $0.submit((1...4).map { url($0, host: "a") }, fetch: Self.obedient)
    }
    try askForDelay(10, of: "a", cluster)
    for _ in 1...25 {
      cluster.handle(.fromWorker(worker, .hostUpdates(HostUpdates(extraRequests: ["a"]))))
      cluster.advance(by: .seconds(1))
    }
    #expect(starts(cluster, at: "a") == 3)
  }

  @Test func `a crawl delay holds no request that does not respect robots`() throws {
    let cluster = ClusterModel.started()
    let lines = (1...4).map { url($0, host: "a") }
    cluster.answeringLookups { $0.submit([lines[0], lines[1]], fetch: Self.obedient) }
    try askForDelay(10, of: "a", cluster)
    cluster.answeringLookups {
      $0.view(lines[2])
      $0.submit([lines[3]])
    }
    #expect(cluster.fetching.sorted() == [lines[0], lines[2], lines[3]])
    cluster.advance(by: .seconds(10))
    #expect(cluster.fetching.sorted() == lines)
  }

  @Test(arguments: [(6, Wait.Kind.hostRate), (30, .crawlDelay)])
  func `of a job's rate and a crawl delay, the later one is told, all the time`(
    perMinute: Int, kind: Wait.Kind
  ) throws {
    let cluster = ClusterModel.started()
    cluster.answeringLookups {
      $0.submit(
        (1...9).map { url($0, host: "a") }, fetch: Self.obedient, ratePerMinute: perMinute)
    }
    try askForDelay(5, of: "a", cluster)
    for _ in 1...20 {
      cluster.advance(by: .milliseconds(700))
      #expect(wait(for: "a", cluster)?.kind == kind)
    }
  }

  @Test(arguments: [0, 60])
  func `after a restart no burst comes on top of what was requested before`(ofCluster: Int) {
    let cluster = ClusterModel.started(ratePerMinute: ofCluster)
    cluster.answeringLookups {
      $0.submit((1...5).map { url($0, host: "a") }, ratePerMinute: ofCluster == 0 ? 60 : 0)
    }
    cluster.finish(url(1, host: "a"))
    cluster.areWorkersReadyAtOnce = false
    cluster.restart()
    cluster.onlyWorker.map { cluster.ready($0) }
    cluster.answerLookups()
    #expect(cluster.fetching.isEmpty)
    cluster.advance(by: .seconds(1))
    #expect(cluster.fetching == [url(2, host: "a")])
    cluster.answeringLookups { $0.view(url(1, host: "b")) }
    #expect(starts(cluster, at: "b") == 1)
  }

  @Test(arguments: [(8, 7), (1, 1)])
  func `where bandwidth is limited, lists leave the last slot of a host to viewers`(
    perHost: Int, forLists: Int
  ) {
    let cluster = ClusterModel.started(perHost: perHost)
    cluster.changeLimits(LimitChange(bytesPerSecond: 1_024))
    cluster.answeringLookups { $0.submit((1...20).map { url($0, host: "a") }) }
    #expect(starts(cluster, at: "a") == forLists)
    cluster.answeringLookups { $0.view(url(30, host: "a")) }
    #expect(starts(cluster, at: "a") == perHost)
    cluster.changeLimits(LimitChange(bytesPerSecond: 0))
    for number in 1...2 where perHost > 1 { cluster.finish(url(number, host: "a")) }
    #expect(cluster.fetching.count == perHost)
  }

  private static let obedient = FetchOptions(respectsRobots: true)

  @Test func `a robots.txt takes a token of the host that is asked for it`() throws {
    let cluster = cluster(ratePerMinute: 60)
    let worker = try #require(cluster.onlyWorker)
    cluster.handle(.fromWorker(worker, .hostUpdates(HostUpdates(extraRequests: ["a", "b"]))))
    cluster.answeringLookups { $0.submit([url(1, host: "b")]) }
    #expect(starts(cluster, at: "b") == 0)
    cluster.advance(by: .seconds(1))
    #expect(starts(cluster, at: "a") == 1)
    #expect(starts(cluster, at: "b") == 1)
    cluster.advance(by: .seconds(1))
    #expect(starts(cluster, at: "a") == 2)
  }

  @Test func `however many of them are asked for, a host's own turn comes`() throws {
    let cluster = cluster(ratePerMinute: 60)
    let worker = try #require(cluster.onlyWorker)
    let asked = HostUpdates(extraRequests: Array(repeating: "a", count: 1_000))
    cluster.handle(.fromWorker(worker, .hostUpdates(asked)))
    cluster.advance(by: .milliseconds(1_999))
    #expect(starts(cluster, at: "a") == 1)
    cluster.advance(by: .milliseconds(1))
    #expect(starts(cluster, at: "a") == 2)
  }

  @Test func `a host without tokens leaves its slot to others`() {
    let cluster = ClusterModel.started(transfers: 2, ratePerMinute: 60)
    cluster.submit([1, 2, 3].map { url($0, host: "a") } + [url(4, host: "b")])
    cluster.answerLookups()
    #expect(cluster.fetching == [url(1, host: "a"), url(4, host: "b")])
  }

  @Test func `a token that comes while all slots are taken is used when one is free`() {
    let cluster = ClusterModel.started(transfers: 1, ratePerMinute: 60)
    cluster.answeringLookups { $0.submit([1, 2].map { url($0, host: "a") }) }
    cluster.advance(by: .seconds(1))
    cluster.advance(by: .seconds(5))
    #expect(starts(cluster, at: "a") == 1)
    cluster.finish(url(1, host: "a"))
    #expect(starts(cluster, at: "a") == 2)
  }

  @Test func `no more than a burst gathers while a transfer is under way`() {
    let cluster = ClusterModel.started(ratePerMinute: 120)
    cluster.answeringLookups { $0.view(url(1, host: "a")) }
    cluster.advance(by: .seconds(10))
    cluster.answeringLookups { $0.submit((2...6).map { url($0, host: "a") }) }
    #expect(starts(cluster, at: "a") == 1 + 2)
  }

  @Test func `an attached item takes no token`() {
    let cluster = ClusterModel.started(ratePerMinute: 60)
    for variant in [Variant.standard, .small] { cluster.view(url(1, host: "a"), variant: variant) }
    cluster.answerLookups()
    #expect(cluster.attachedCount == 1)
    cluster.finishEverything()
    cluster.answeringLookups { $0.view(url(2, host: "a")) }
    cluster.advance(by: .seconds(1))
    #expect(starts(cluster, at: "a") == 2, "a second token would have taken another second")
  }

  // MARK: - Forgetting

  @Test func `a host is forgotten when its bucket is full, and not before`() {
    let cluster = ClusterModel.started(ratePerMinute: 60)
    cluster.view(url(1, host: "a"))
    #expect(cluster.finished().scheduler.fetches.queue.hosts.keys.sorted() == ["a"])
    #expect(cluster.scheduler.deadline == cluster.now.instant + .seconds(1))
    cluster.advance(by: .milliseconds(999))
    cluster.answeringLookups { $0.view(url(2, host: "a")) }
    #expect(starts(cluster, at: "a") == 1)
    cluster.advance(by: .milliseconds(1))
    #expect(starts(cluster, at: "a") == 2)
    cluster.finishEverything()
    cluster.advance(by: .seconds(1))
    #expect(cluster.scheduler.fetches.queue.hosts.isEmpty)
    #expect(cluster.scheduler.deadline == nil)
  }

  @Test func `without a rate a host is forgotten with its last transfer`() {
    let cluster = ClusterModel.started()
    cluster.submit((1...20).map { url($0, host: "host\($0 % 3)") })
    #expect(cluster.finished().scheduler.fetches.queue.hosts.isEmpty)
    #expect(cluster.scheduler.deadline == nil)
  }

  // MARK: - Changes

  @Test func `a higher rate holds at once, and none lets everything go`() {
    let cluster = cluster(ratePerMinute: 60)
    #expect(starts(cluster, at: "a") == 1)
    cluster.changeLimits(ratePerMinute: 600)
    // What was taken is paid back at the new rate's pace: one token more is left in a tenth of it.
    #expect(cluster.scheduler.deadline == cluster.now.instant + .milliseconds(100))
    cluster.advance(by: .milliseconds(300))
    #expect(starts(cluster, at: "a") == 4)
    cluster.changeLimits(ratePerMinute: 0)
    #expect(cluster.scheduler.deadline == nil)
    #expect(starts(cluster, at: "a") == 8, "the host's places are taken")
  }

  @Test func `a lower rate holds at once`() {
    let cluster = ClusterModel.started(perHost: 2)
    cluster.answeringLookups { $0.submit((1...10).map { url($0, host: "a") }) }
    cluster.changeLimits(ratePerMinute: 60)
    for url in cluster.fetching { cluster.finish(url) }
    #expect(starts(cluster, at: "a") == 3, "the bucket was full")
    for url in cluster.fetching { cluster.finish(url) }
    #expect(starts(cluster, at: "a") == 3)
    cluster.advance(by: .seconds(1))
    #expect(starts(cluster, at: "a") == 4)
  }

  @Test func `more slots are used at once`() {
    let cluster = ClusterModel.started(transfers: 2, perHost: 1)
    cluster.answeringLookups {
      $0.submit([1, 2, 3].map { url($0, host: "a") } + spreadURLs(4...6))
    }
    #expect(cluster.fetching.count == 2)
    cluster.changeLimits(transfers: 4)
    #expect(cluster.fetching.count == 4)
    #expect(starts(cluster, at: "a") == 1)
    cluster.changeLimits(transfers: 64, perHost: 2)
    #expect(cluster.fetching.count == 5)
    #expect(starts(cluster, at: "a") == 2)
  }

  @Test func `with fewer slots what is under way beyond them comes to its end`() {
    let cluster = ClusterModel.started(perHost: 3)
    cluster.answeringLookups { $0.submit((1...8).map { url($0, host: "a") } + spreadURLs(11...13)) }
    #expect(cluster.fetching.count == 6)
    cluster.changeLimits(transfers: 2, perHost: 1)
    #expect(cluster.cancelledLeases.isEmpty)
    for number in 1...3 {
      cluster.finish(url(number, host: "a"))
      #expect(starts(cluster, at: "a") == 3)
    }
    cluster.finish(url(11, host: "host11"))
    #expect(starts(cluster, at: "a") == 3, "two are still under way")
    cluster.finish(url(12, host: "host12"))
    #expect(starts(cluster, at: "a") == 4)
    #expect(cluster.scheduler.transferCount == 2)
    #expect(cluster.finished().fetchStarts.count == 11)
  }
}
