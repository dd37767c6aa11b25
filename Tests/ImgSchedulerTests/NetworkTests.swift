import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Whether the network works, by itself.
@Suite struct NetworkHealthTests {
  private var network: NetworkHealth
  private let start = Instant.now

  init() {
    network = NetworkHealth(Limits())
  }

  private mutating func note(
    _ evidence: NetworkEvidence, of group: String, after seconds: Int = 1
  ) -> Bool {
    network.note(evidence, of: group, at: start + .seconds(seconds))
  }

  private static let silence = NetworkEvidence.silence(isUnrouted: false)

  @Test mutating func `three silent hosts without an answer are an outage, from the first on`() {
    for group in ["a", "b", "c"] {
      #expect(network.outage == nil)
      #expect(note(Self.silence, of: group))
    }
    #expect(network.outage?.kind == .offline)
  }

  @Test(arguments: [NetworkEvidence.answer, .response, .page])
  mutating func `an answer of any host shows that the network works`(evidence: NetworkEvidence) {
    for group in ["a", "b", "c", "d"] {
      _ = note(Self.silence, of: group)
      #expect(!note(evidence, of: "z"))
      #expect(network.outage == nil)
    }
  }

  @Test mutating func `one silent host fails by itself`() {
    for count in 1...30 {
      let isHeld = note(Self.silence, of: "a")
      #expect(isHeld == (count <= NetworkHealth.suspectedSilenceCount))
    }
    #expect(network.outage == nil)
  }

  @Test mutating func `one silent host is enough without any route`() {
    #expect(note(.silence(isUnrouted: true), of: "a"))
    #expect(network.outage?.kind == .offline)
  }

  @Test mutating func `what says nothing holds nothing up, except in an outage`() {
    #expect(!note(.none, of: "a"))
    _ = note(.silence(isUnrouted: true), of: "a")
    #expect(note(.none, of: "b"))
    #expect(!note(.answer, of: "b"))
    #expect(!note(.none, of: "b"))
  }

  @Test mutating func `pages of three hosts within a minute are those of the network`() {
    #expect(!note(.page, of: "a", after: 0))
    #expect(!note(.page, of: "b", after: 61))
    #expect(!note(.page, of: "a", after: 62))
    #expect(note(.page, of: "c", after: 63))
    #expect(network.outage?.kind == .captive)
    // The portal resolves names and redirects.
    #expect(note(.answer, of: "d", after: 64))
    #expect(!note(.response, of: "d", after: 65))
    #expect(network.outage == nil)
  }

  @Test mutating func `a response among pages shows that they are the hosts' own`() {
    for group in ["a", "b", "c", "d"] {
      #expect(!note(.page, of: group))
      #expect(!note(.response, of: "z"))
    }
  }

  @Test mutating func `one failure to reach the proxy is enough, and is told`() {
    #expect(note(.silence(isUnrouted: true, proxyFailure: "refused"), of: "a"))
    #expect(network.outage?.kind == .offline)
    #expect(network.outage?.detail == "refused")
    #expect(!note(.response, of: "b"))
    #expect(network.outage == nil)
  }

  // MARK: - Trials

  @Test mutating func `trials come less and less often, up to every thirty seconds`() {
    _ = note(.silence(isUnrouted: true), of: "a", after: 0)
    var now = start
    var waits: [Int64] = []
    for number in 1...6 {
      let next = network.deadline(after: now) ?? now
      waits.append((next - now).components.seconds)
      now = next
      #expect(network.isTrialDue(at: now))
      network.beginTrial(TransferID(rawValue: UInt64(number)), of: "h")
      #expect(!network.isTrialDue(at: now))
      network.endTrial(at: now)
    }
    #expect(waits == [2, 4, 8, 16, 30, 30])
  }

  @Test mutating func `after the timeout the network is taken as it is, until it works`() {
    _ = note(.silence(isUnrouted: true), of: "a", after: 0)
    network.endWait(at: start + Limits().offlineTimeout)
    #expect(network.outage == nil)
    #expect(!note(.silence(isUnrouted: true), of: "a", after: 30_000))
    #expect(!note(.answer, of: "a", after: 30_001))
    #expect(note(.silence(isUnrouted: true), of: "a", after: 30_002))
  }

  @Test mutating func `answers of the resolver do not begin a second wait for a login`() {
    for group in ["a", "b", "c"] { _ = note(.page, of: group, after: 0) }
    network.endWait(at: start + Limits().offlineTimeout)
    _ = note(.answer, of: "a", after: 30_000)
    for group in ["a", "b", "c"] { #expect(!note(.page, of: group, after: 30_001)) }
    _ = note(.response, of: "a", after: 30_002)
    let held = ["a", "b", "c"].map { note(.page, of: $0, after: 30_003) }
    #expect(held == [false, false, true])
  }

  @Test func `a timeout of zero waits for nothing`() {
    var limits = Limits()
    limits.offlineTimeout = .zero
    var network = NetworkHealth(limits)
    let isHeld = network.note(.silence(isUnrouted: true), of: "a", at: start)
    #expect(!isHeld)
    #expect(network.outage == nil)
  }

  @Test func `pages are counted for so many hosts only`() {
    var counts = PageCounts()
    for number in 0..<2_000 { #expect(counts.note("host\(number)") == 1) }
    #expect(counts.hostCount == PageCounts.maximumHostCount)
    #expect(counts.note("host1999") == 2)
  }

  @Test func `a failed transfer shows what its sign or its code says`() {
    func failure(_ code: Failure.Code, status: Int? = nil) -> Failure {
      Failure(stage: .fetch, code: code, httpStatus: status, detail: "")
    }
    #expect(NetworkEvidence(failure(.dnsFailure), .silent) == .silence(isUnrouted: false))
    #expect(NetworkEvidence(failure(.timeout), .unrouted) == .silence(isUnrouted: true))
    #expect(NetworkEvidence(failure(.dnsFailure), .answered) == .answer)
    #expect(NetworkEvidence(failure(.dnsFailure), nil) == .none)
    #expect(NetworkEvidence(failure(.timeout), nil) == .none)
    #expect(NetworkEvidence(failure(.truncatedBody, status: 200), nil) == .none)
    #expect(NetworkEvidence(failure(.tlsFailure), nil) == .answer)
    #expect(NetworkEvidence(failure(.httpStatus, status: 404), nil) == .response)
    #expect(NetworkEvidence(failure(.httpStatus, status: 511), nil) == .page)
    #expect(NetworkEvidence(failure(.notAnImage), .page) == .page)
    #expect(
      NetworkEvidence(failure(.proxyFailure), .unrouted)
        == .silence(isUnrouted: true, proxyFailure: ""))
    #expect(NetworkEvidence(failure(.proxyFailure), nil) == .none)
  }
}

/// A cluster whose network fails.
@Suite struct NetworkOutageTests {
  private static let silent = Outcome.failed(
    Failure(stage: .fetch, code: .dnsFailure, detail: "Could not resolve host"))
  private static let page = Outcome.failed(
    Failure(stage: .decode, code: .notAnImage, detail: "the body is an HTML page"))

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

  @Test func `a job says that it is offline, and which host is tried next`() {
    let cluster = ClusterModel.started(attempts: 3)
    let job = cluster.answeringLookups { $0.submit(spread(20)) }
    failAll(in: cluster)
    cluster.advance(by: .milliseconds(1_900))
    let start = cluster.now.wall
    pass(.seconds(3), in: cluster)
    let wait = cluster.scheduler.status(of: job, at: cluster.now.instant)?.wait
    #expect(wait?.kind == .offline)
    #expect(wait?.host == "host1.test")
    #expect(wait?.until.map { $0 > start } == true)
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

  @Test func `pages that are held count once, when they are the last`() throws {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { $0.submit(spread(3)) }
    for _ in 1...10 where cluster.endedJobs[job] == nil {
      failAll(in: cluster, Self.page, .page)
      cluster.advance(by: .seconds(60))
    }
    cluster.advance(by: .seconds(10 * 3_600))
    failAll(in: cluster, Self.page, .page)
    let outcome = try #require(cluster.outcome(of: 0, job))
    guard case .failed(let failure, _) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(!failure.detail.contains("such pages"), "\(failure.detail)")
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

  @Test func `a page counts once, however many sizes are made of it`() {
    let cluster = ClusterModel.started(attempts: 1)
    let jobs = cluster.answeringLookups { cluster in
      [Variant.small, .medium].map { variant in
        cluster.submit((0..<4).map { url($0) }, variant: variant)
      }
    }
    for number in 0..<4 {
      for variant in [Variant.small, .medium] {
        cluster.finish(url(number), variant: variant, Self.page, sign: .page)
      }
    }
    for job in jobs {
      guard case .failed(let failure, _)? = cluster.outcome(of: 3, job) else { return }
      #expect(failure.detail == "the body is an HTML page, one of 4 such pages of example.com")
    }
  }

  @Test func `a page in place of a picture is a plain failure, and pages of a host are counted`() {
    let cluster = ClusterModel.started(attempts: 3)
    let job = cluster.answeringLookups { $0.submit((0..<30).map { url($0) }) }
    failAll(in: cluster, Self.page, .page)
    #expect(cluster.endedJobs[job]?.counts.failed == 30)
    #expect(cluster.fetchStarts.count == 30)
    guard case .failed(let failure, _)? = cluster.outcome(of: 29, job) else { return }
    #expect(!failure.isRetryable)
    #expect(failure.detail == "the body is an HTML page, one of 30 such pages of example.com")
  }

  @Test func `a list waits for the login to a network, and then goes on`() {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { $0.submit(spread(40)) }
    failAll(in: cluster, Self.page, .page)
    pass(.seconds(1_200), in: cluster, Self.page, .page)
    #expect(cluster.scheduler.clusterWait()?.kind == .captive)
    #expect(cluster.counts(job)?.failed == 2, "before the third host showed it")
    let wait = cluster.scheduler.status(of: job, at: cluster.now.instant)?.wait
    #expect(wait?.detail?.contains("imgctl retry \(job) --all") == true)
    cluster.advance(by: .seconds(30))
    #expect(cluster.finished().endedJobs[job]?.counts.done == 38)
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
