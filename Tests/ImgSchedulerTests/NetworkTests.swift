import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// A cluster whose network fails.
@Suite struct NetworkOutageTests {
  private static let silent = Outcome.failed(
    Failure(stage: .fetch, code: .dnsFailure, detail: "Could not resolve host"))
  private static let page = Outcome.failed(
    Failure(stage: .decode, code: .notAnImage, detail: "the body is an HTML page"))

  private static let untrusted = Outcome.failed(
    Failure(stage: .fetch, code: .tlsFailure, detail: "SSL certificate problem: self-signed"))

  private func failAll(
    in cluster: ClusterModel, _ outcome: Outcome = silent, _ sign: NetworkSign? = .silent
  ) {
    while let url = cluster.fetching.first {
      cluster.finish(url, outcome, sign: sign)
      cluster.answerLookups()
    }
  }

  private func spread(_ count: Int, perHost: Int = 1) -> [String] {
    (0..<count).map { url($0, host: "host\($0 / perHost).test") }
  }

  /// - Returns: how many transfers began.
  @discardableResult
  private func pass(
    _ time: Duration, in cluster: ClusterModel, _ outcome: Outcome = silent,
    _ sign: NetworkSign? = .silent
  ) -> Int {
    cluster.fetchStarts = []
    var rest = time
    while rest > .zero {
      let step = min(rest, .seconds(10))
      cluster.advance(by: step)
      rest -= step
      failAll(in: cluster, outcome, sign)
    }
    return cluster.fetchStarts.count
  }

  @Test(arguments: [(1, NetworkSign.unrouted), (5, .silent), (40, .silent)])
  func `a list survives an hour without network, and then goes on`(
    hostCount: Int, sign: NetworkSign
  ) {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { $0.submit(spread(40, perHost: 40 / hostCount)) }
    failAll(in: cluster, Self.silent, sign)
    let trials = pass(.seconds(3_600), in: cluster, Self.silent, sign)
    #expect((100...130).contains(trials), "one each half minute")
    #expect(cluster.counts(job)?.failed == 0)
    cluster.fetchStarts = []
    cluster.advance(by: .seconds(30))
    #expect(cluster.finished().endedJobs[job]?.counts.done == 40)
    #expect(cluster.networkNews.count == 2, "one when it began, one when it ended")
    #expect(cluster.networkNews.first?.hasPrefix("offline, jobs wait: no host can be") == true)
    #expect(cluster.networkNews.last?.hasPrefix("the network works again, after 36") == true)
  }

  @Test func `a list survives a network that comes and goes`() {
    let cluster = ClusterModel.started(attempts: 2)
    let job = cluster.answeringLookups { $0.submit(spread(100)) }
    for _ in 1...10 {
      for _ in 1...5 {
        guard let url = cluster.fetching.first else { break }
        cluster.transferred(url)
        cluster.finish(url)
        cluster.answerLookups()
      }
      failAll(in: cluster)
      pass(.seconds(60), in: cluster)
    }
    #expect(cluster.counts(job)?.failed == 0)
    cluster.advance(by: .seconds(30))
    #expect(cluster.finished().endedJobs[job]?.counts.done == 100)
  }

  @Test func `a list of dead names is not held up on a machine that is online`() {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { $0.submit(spread(100)) }
    failAll(in: cluster, Self.silent, .answered)
    #expect(cluster.endedJobs[job]?.counts.failed == 100)
  }

  @Test func `one dead host in a list of good ones fails by itself`() {
    let cluster = ClusterModel.started(attempts: 2)
    let job = cluster.answeringLookups {
      $0.submit([url(0, host: "dead.test")] + spread(50))
    }
    var count = 0
    while cluster.endedJobs[job] == nil, count < 1_000 {
      count += 1
      guard let url = cluster.fetching.last else {
        cluster.advance(by: .seconds(1))
        continue
      }
      if url.contains("dead") {
        cluster.finish(url, Self.silent, sign: .silent)
      } else {
        cluster.transferred(url)
        cluster.finish(url)
      }
      cluster.answerLookups()
    }
    #expect(cluster.endedJobs[job]?.counts.failed == 1)
    #expect(cluster.endedJobs[job]?.counts.done == 50)
  }

  @Test func `after the timeout lines fail with their reason`() {
    let cluster = ClusterModel.started(attempts: 2, offlineTimeout: .seconds(3_600))
    let job = cluster.answeringLookups { $0.submit(spread(20)) }
    failAll(in: cluster)
    pass(.seconds(3_500), in: cluster)
    #expect(cluster.counts(job)?.failed == 0)
    pass(.seconds(300), in: cluster)
    #expect(cluster.endedJobs[job]?.counts.failed == 20)
    guard case .failed(let failure, _)? = cluster.outcome(of: 7, job) else { return }
    #expect(failure.detail.hasPrefix("Could not resolve host"))
    #expect(failure.isRetryable)
  }

  @Test func `connections are dropped when an outage begins and ends, and before each trial`() {
    let cluster = ClusterModel.started(attempts: 1)
    cluster.answeringLookups { $0.submit(spread(20)) }
    failAll(in: cluster)
    #expect(cluster.connectionDropCount == 1)
    let trials = pass(.seconds(60), in: cluster)
    #expect(cluster.connectionDropCount == 1 + trials)
    cluster.advance(by: .seconds(30))
    _ = cluster.finished()
    #expect(cluster.connectionDropCount == 3 + trials, "the last trial, and the end")
  }

  @Test func `after an outage one line of each host goes before the others`() {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { $0.submit(spread(40, perHost: 8)) }
    failAll(in: cluster, Self.page, .page)
    cluster.advance(by: .seconds(60))
    while let url = cluster.fetching.first, cluster.scheduler.networks[.direct].outage != nil {
      cluster.transferred(url)
      cluster.finish(url)
      cluster.answerLookups()
    }
    #expect(cluster.fetching.count == 3, "the lines of two had failed before")
    #expect(Set(cluster.fetching.map { $0.split(separator: "/")[1] }).count == 3)
    cluster.transferred(cluster.fetching[0])
    #expect(cluster.fetching.count > 3)
    #expect(cluster.finished().endedJobs[job]?.counts.total == 40)
  }

  @Test func `each host is tried in its turn`() {
    let cluster = ClusterModel.started(attempts: 1)
    cluster.answeringLookups { $0.submit(spread(12, perHost: 4)) }
    failAll(in: cluster)
    cluster.fetchStarts = []
    pass(.seconds(300), in: cluster)
    let hosts = cluster.fetchStarts.prefix(6).map { String($0.dropFirst(7).prefix(5)) }
    #expect(Array(hosts.prefix(3)) == Array(hosts.dropFirst(3)))
    #expect(Set(hosts) == ["host0", "host1", "host2"])
  }

  @Test func `a person who asks while offline has the reason at once`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    let job = cluster.answeringLookups { $0.submit(spread(20)) }
    failAll(in: cluster)
    let viewer = cluster.answeringLookups { $0.view(url(3, host: "host3.test")) }
    cluster.advance(by: .seconds(1))
    #expect(cluster.fetching == [url(3, host: "host3.test")])
    failAll(in: cluster)
    guard case .failed(let failure, _)? = cluster.answers[viewer] else {
      Issue.record("no failure")
      return
    }
    #expect(failure.code == .dnsFailure)
    #expect(failure.detail.contains("offline"))
    #expect(cluster.counts(job)?.failed == 0)
    #expect(cluster.counts(job)?.total == 20)
  }

  @Test(arguments: [[], ["host1.test"]])
  func `a job says that it is offline, and which host is tried next`(directHosts: [String]) throws {
    let proxy = try ProxyURL(parsing: "http://p:3128")
    let proxies = ProxySettings(http: proxy, https: proxy, directHosts: directHosts)
    let cluster = ClusterModel.started(attempts: 3, proxies: proxies)
    let job = cluster.answeringLookups { $0.submit(spread(20)) }
    failAll(in: cluster)
    cluster.advance(by: .milliseconds(1_900))
    let start = cluster.now.wall
    pass(.seconds(3), in: cluster)
    let wait = cluster.scheduler.status(of: job, at: cluster.now.instant)?.wait
    #expect(wait?.kind == .offline)
    #expect(wait?.host == "host1.test")
    #expect(wait?.until.map { $0 > start } == true)
    let isDirect = wait?.detail?.contains("asked directly (NO_PROXY)") == true
    #expect(isDirect == !directHosts.isEmpty)
    #expect(cluster.scheduler.clusterWait() == wait)
  }

  /// All that the trial of a list asks a host for that respects robots, before it is released.
  @Test func `a robots.txt that comes ends an outage`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    let worker = try #require(cluster.onlyWorker)
    cluster.answeringLookups { $0.submit(spread(20)) }
    failAll(in: cluster)
    #expect(cluster.scheduler.clusterWait()?.kind == .offline)
    cluster.handle(
      .fromWorker(
        worker, .hostUpdates(HostUpdates(robotsFetched: [RobotsFetch(from: "host1.test")]))))
    #expect(cluster.scheduler.clusterWait()?.kind != .offline)
  }

  @Test func `a silent host is held twice at most while others answer`() {
    let cluster = ClusterModel.started(attempts: 2)
    let dead = url(0, host: "dead.test")
    let job = cluster.answeringLookups { $0.submit([dead] + spread(30)) }
    for number in 0..<30 where cluster.outcome(of: 0, job) == nil {
      if cluster.fetching.contains(dead) { cluster.finish(dead, Self.silent, sign: .silent) }
      cluster.finish(url(number, host: "host\(number).test"))
      cluster.answerLookups()
      cluster.advance(by: .seconds(3))
    }
    #expect(cluster.counts(job)?.failed == 1)
    #expect(cluster.fetchStarts.filter { $0 == dead }.count == 4, "two holds and two attempts")
  }

  // MARK: - Proxies

  private static let refused = Outcome.failed(
    Failure(stage: .fetch, code: .proxyFailure, detail: "the proxy http://p:3128: refused"))

  @Test(arguments: [1, 40])
  func `a list survives a dead proxy, names it, and then goes on`(hostCount: Int) throws {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { $0.submit(spread(40, perHost: 40 / hostCount)) }
    failAll(in: cluster, Self.refused, .unrouted)
    let trials = pass(.seconds(3_600), in: cluster, Self.refused, .unrouted)
    #expect((100...130).contains(trials), "one each half minute")
    #expect(cluster.counts(job)?.failed == 0)
    let wait = try #require(cluster.scheduler.status(of: job, at: cluster.now.instant)?.wait)
    #expect(wait.kind == .offline)
    #expect(wait.detail == "the proxy http://p:3128: refused")
    #expect(wait.host != nil)
    cluster.advance(by: .seconds(30))
    #expect(cluster.finished().endedJobs[job]?.counts.done == 40)
  }

  @Test func `a dead proxy holds up the hosts that are asked through it, and no others`() throws {
    let cluster = ClusterModel.started(attempts: 1)
    let direct = (100..<200).map { url($0, host: "direct.test") }
    let job = cluster.answeringLookups { $0.submit(spread(10) + direct) }
    while let url = cluster.fetching.first {
      if direct.contains(url) {
        cluster.transferred(url)
        cluster.finish(url)
      } else {
        cluster.finish(url, Self.refused, sign: .unrouted)
      }
      cluster.answerLookups()
    }
    #expect(cluster.counts(job)?.done == 100)
    pass(.seconds(3_600), in: cluster, Self.refused, .unrouted)
    #expect(cluster.counts(job)?.failed == 0)
    let wait = cluster.scheduler.status(of: job, at: cluster.now.instant)?.wait
    #expect(wait?.detail == "the proxy http://p:3128: refused")
    cluster.advance(by: .seconds(30))
    #expect(cluster.finished().endedJobs[job]?.counts.done == 110)
  }

  @Test func `a transfer to a slow host does not wait for the proxy of others`() throws {
    let cluster = ClusterModel.started(attempts: 1)
    let slow = url(100, host: "direct.test")
    let job = cluster.answeringLookups { $0.submit(spread(3) + [slow]) }
    for url in cluster.fetching where url != slow {
      cluster.finish(url, Self.refused, sign: .unrouted)
    }
    cluster.advance(by: .seconds(3))
    for url in cluster.fetching where url != slow {
      cluster.finish(url, Self.refused, sign: .unrouted)
    }
    let wait = cluster.scheduler.status(of: job, at: cluster.now.instant)?.wait
    #expect(wait?.kind == .transferring)
    #expect(wait?.host == "direct.test")
    #expect(cluster.scheduler.clusterWait()?.kind == .offline)
  }

  // MARK: - Captive

  @Test func `pages of one host in place of pictures are plain failures`() {
    let cluster = ClusterModel.started(attempts: 3)
    let job = cluster.answeringLookups { $0.submit((0..<30).map { url($0) }) }
    failAll(in: cluster, Self.page, .page)
    #expect(cluster.endedJobs[job]?.counts.failed == 30)
    #expect(cluster.fetchStarts.count == 30)
    guard case .failed(let failure, _)? = cluster.outcome(of: 29, job) else { return }
    #expect(!failure.isRetryable)
    #expect(failure.detail == "the body is an HTML page")
  }

  @Test(arguments: [(Self.page, NetworkSign.page), (Self.untrusted, .foreignCertificate)])
  func `a list waits for the login to a network, and then goes on`(
    outcome: Outcome, sign: NetworkSign
  ) {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { $0.submit(spread(40)) }
    failAll(in: cluster, outcome, sign)
    pass(.seconds(1_200), in: cluster, outcome, sign)
    #expect(cluster.scheduler.clusterWait()?.kind == .captive)
    #expect(cluster.scheduler.clusterWait()?.code == (sign == .page ? nil : .tlsFailure))
    #expect(cluster.counts(job)?.failed == 2, "before the third host showed it")
    let wait = cluster.scheduler.status(of: job, at: cluster.now.instant)?.wait
    #expect(wait?.detail?.contains("imgctl retry \(job) --all") == true)
    cluster.advance(by: .seconds(30))
    #expect(cluster.finished().endedJobs[job]?.counts.done == 38)
  }

  @Test func `a picture that was asked for before the pages does not end the wait for a login`() {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { $0.submit(spread(40)) }
    let asked = cluster.fetching
    cluster.advance(by: .seconds(1))
    for url in asked.prefix(3) { cluster.finish(url, Self.page, sign: .page) }
    #expect(cluster.scheduler.clusterWait()?.kind == .captive)
    for url in asked.dropFirst(3) { cluster.finish(url) }
    cluster.answerLookups()
    #expect(cluster.scheduler.clusterWait()?.kind == .captive)
    #expect(cluster.fetching.isEmpty)
    cluster.advance(by: .seconds(30))
    #expect(cluster.finished().endedJobs[job]?.counts.done == 38)
  }

  @Test func `foreign certificates do not hold what works over http`() {
    let cluster = ClusterModel.started(attempts: 1)
    let plain = spread(120, perHost: 20)
    cluster.answeringLookups { $0.submit(plain.map { $0.replacing("http:", with: "https:") }) }
    func answerAll() {
      while let url = cluster.fetching.first {
        if url.hasPrefix("https:") {
          cluster.finish(url, Self.untrusted, sign: .foreignCertificate)
        } else {
          cluster.finish(url)
        }
        cluster.answerLookups()
      }
    }
    answerAll()
    #expect(cluster.scheduler.clusterWait()?.kind == .captive)
    let job = cluster.answeringLookups { $0.submit(plain) }
    for _ in 1...30 {
      cluster.advance(by: .seconds(10))
      answerAll()
    }
    #expect(cluster.endedJobs[job]?.counts.done == 120)
  }

  @Test(arguments: [nil, NetworkSign.page])
  func `a robots.txt that comes ends the wait for a login, unless it is a web page`(
    sign: NetworkSign?
  ) throws {
    let cluster = ClusterModel.started(attempts: 1)
    let worker = try #require(cluster.onlyWorker)
    cluster.answeringLookups { $0.submit(spread(40)) }
    failAll(in: cluster, Self.page, .page)
    #expect(cluster.scheduler.clusterWait()?.kind == .captive)
    let fetch = RobotsFetch(from: "host1.test", sign: sign)
    cluster.handle(.fromWorker(worker, .hostUpdates(HostUpdates(robotsFetched: [fetch]))))
    #expect((cluster.scheduler.clusterWait()?.kind == .captive) == (sign == .page))
  }

  @Test func `a list whose hosts all answer with pages ends`() {
    let cluster = ClusterModel.started(attempts: 3, offlineTimeout: .seconds(3_600))
    let job = cluster.answeringLookups { $0.submit(spread(40)) }
    failAll(in: cluster, Self.page, .page)
    pass(.seconds(3_700), in: cluster, Self.page, .page)
    #expect(cluster.endedJobs[job]?.counts.failed == 40)
  }
}

/// A line that gives all transfers together so many bytes a second, and hosts that are slow by themselves.
@Suite struct SlowLineTests {
  private static let timeout = Failure(
    stage: .fetch, code: .timeout, httpStatus: 200, detail: Failure.tooSlow(seconds: 20))

  /// All that runs has run for 20 s.
  ///
  /// - Parameter isSlow: which transfers time out; the others end well.
  private func pass(in cluster: ClusterModel, where isSlow: (String) -> Bool) {
    let running = cluster.fetching
    for url in running where isSlow(url) { cluster.turn(url, slow: true) }
    cluster.advance(by: .seconds(20))
    for url in running {
      guard !isSlow(url) else {
        cluster.finish(url, .failed(Self.timeout, bytesFetched: 6_000))
        continue
      }
      cluster.transferred(url)
      cluster.finish(url)
    }
    cluster.answerLookups()
    cluster.advance(by: .seconds(1))
  }

  @Test func `on a slow line fewer transfers run at once, and no line is lost`() {
    let cluster = ClusterModel.started(attempts: 2)
    let job = cluster.answeringLookups { cluster in
      cluster.submit((0..<240).map { url($0, host: "host\($0 % 12)") })
    }
    var counts: [Int] = []
    while cluster.endedJobs[job] == nil, counts.count < 100 {
      counts.append(cluster.fetching.count)
      let isTooMany = cluster.fetching.count > 20
      pass(in: cluster) { _ in isTooMany }
    }
    #expect(cluster.endedJobs[job]?.counts.done == 240)
    #expect(counts[0] == 56, "the others are reserved")
    #expect(counts[1] <= 28 && counts[2] <= 14 && counts.dropFirst(2).allSatisfy { $0 <= 21 })
  }

  @Test func `the status says that the line is slow`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    let job = cluster.answeringLookups { $0.submit(spreadURLs(0..<240)) }
    pass(in: cluster) { _ in true }
    #expect(cluster.scheduler.slowLineTransfers == 28)
    cluster.advance(by: .seconds(5))
    let wait = try #require(cluster.scheduler.status(of: job, at: cluster.now.instant)?.wait)
    #expect(wait.kind == .slowLine && wait.detail == "a slow line: 28 transfers at once")
    #expect(cluster.networkNews == ["a slow line: 28 transfers at once"])
  }

  @Test func `slow hosts do not slow a cluster down whose other hosts are fast`() {
    let cluster = ClusterModel.started(attempts: 1)
    let slow = (0..<40).map { url($0, host: "slow\($0 % 5)") }
    let job = cluster.answeringLookups { $0.submit(slow + spreadURLs(100..<400)) }
    for _ in 0..<20 where cluster.endedJobs[job] == nil {
      // While the slow ones run, many others end.
      for _ in 0..<3 {
        for url in cluster.fetching where !url.contains("slow") {
          cluster.transferred(url)
          cluster.finish(url)
        }
        cluster.answerLookups()
      }
      pass(in: cluster) { $0.contains("slow") }
      #expect(cluster.scheduler.slowLineTransfers == nil)
    }
    #expect(cluster.endedJobs[job]?.counts.failed == 40)
    #expect(cluster.endedJobs[job]?.counts.done == 300)
  }

  @Test(arguments: [(1, true), (6, false)])
  func `on a slow line a resolver that does not reply in time costs no attempt`(
    seconds: Int, isLost: Bool
  ) throws {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { $0.submit(spreadURLs(0..<240)) }
    pass(in: cluster) { _ in true }
    #expect(cluster.counts(job)?.failed == 2, "before it was known")
    for url in cluster.fetching { cluster.turn(url, slow: true) }
    cluster.advance(by: .seconds(seconds))
    let url = try #require(cluster.fetching.first)
    cluster.finish(url, .failure(.dnsFailure), sign: .answered)
    #expect(cluster.counts(job)?.failed == (isLost ? 3 : 2))
  }

  @Test func `one slow host is no slow line`() {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { cluster in
      cluster.submit((0..<16).map { url($0, host: "slow") })
    }
    pass(in: cluster) { _ in true }
    pass(in: cluster) { _ in true }
    #expect(cluster.endedJobs[job]?.counts.failed == 16)
    #expect(cluster.scheduler.slowLineTransfers == nil)
  }

  @Test func `slow hosts alone end their lines`() {
    let cluster = ClusterModel.started(attempts: 2)
    let job = cluster.answeringLookups { $0.submit(spreadURLs(0..<100)) }
    var passCount = 0
    while cluster.endedJobs[job] == nil, passCount < 100 {
      pass(in: cluster) { _ in true }
      passCount += 1
    }
    #expect(cluster.endedJobs[job]?.counts.failed == 100)
    #expect(passCount < 20)
  }
}
