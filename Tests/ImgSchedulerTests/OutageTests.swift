import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Lists whose one host does not answer for a while.
@Suite struct HostOutageTests {
  private static let refused = Failure(
    stage: .fetch, code: .connectFailure, detail: "the connection was refused")
  private static let silent = Failure(stage: .fetch, code: .timeout, detail: "nothing came")
  private static let broken = Failure(
    stage: .fetch, code: .httpStatus, httpStatus: 500, detail: "the origin answered 500")
  private static let notAsked = "example.com failed too often and was not asked again: "

  private func cluster(
    attempts: Int = 3, backoff: Duration = .seconds(1), ratePerMinute: Int = 0, lineCount: Int
  ) -> (ClusterModel, JobID) {
    let cluster = ClusterModel.started(
      perHost: 1, ratePerMinute: ratePerMinute, attempts: attempts, backoff: backoff)
    let job = cluster.answeringLookups { $0.submit((1...lineCount).map { url($0) }) }
    return (cluster, job)
  }

  private func finish(
    _ url: String, _ failure: Failure?, _ sign: NetworkSign? = nil, in cluster: ClusterModel
  ) {
    if let failure {
      cluster.finish(url, .failed(failure), sign: sign)
    } else {
      cluster.transferred(url)
      cluster.finish(url)
    }
    cluster.answerLookups()
  }

  /// Fails what is fetched until nothing is.
  private func failAll(in cluster: ClusterModel) {
    while let url = cluster.fetching.first { finish(url, Self.refused, in: cluster) }
  }

  /// Lets time pass until the job ends.
  ///
  /// - Parameter failure: of a URL that is fetched so many seconds after the start.
  /// - Returns: the seconds that it took.
  private func run(
    _ job: JobID, in cluster: ClusterModel, sign: NetworkSign? = nil,
    failure: (_ url: String, _ second: Int) -> Failure?
  ) -> Int {
    let start = cluster.now.instant
    func second() -> Int { Int((cluster.now.instant - start) / .seconds(1)) }
    while cluster.endedJobs[job] == nil, second() < 300 {
      if let url = cluster.fetching.first {
        finish(url, failure(url, second()), sign, in: cluster)
      } else if let deadline = cluster.scheduler.deadline {
        cluster.advance(by: deadline - cluster.now.instant)
        cluster.answerLookups()
      } else {
        Issue.record("nothing goes on")
        break
      }
    }
    return second()
  }

  private func failures(of job: JobID, _ indices: Range<Int>, in cluster: ClusterModel) -> [Failure]
  {
    indices.compactMap { index in
      if case .failed(let failure, _)? = cluster.outcome(of: index, job) { failure } else { nil }
    }
  }

  @Test(arguments: [10, 60], [60, 600])
  func `an outage in the middle of a list costs none of its lines`(
    seconds: Int, ratePerMinute: Int
  ) {
    let (cluster, job) = cluster(ratePerMinute: ratePerMinute, lineCount: 200)
    _ = run(job, in: cluster) { _, second in
      8..<(8 + seconds) ~= second ? Self.refused : nil
    }
    #expect(cluster.counts(job)?.done == 200)
  }

  @Test(arguments: [1, 2, 4, 9], [2, 10, 60])
  func `an outage at the end of a list costs none of its lines`(lineCount: Int, seconds: Int) {
    let (cluster, job) = cluster(lineCount: 20 + lineCount)
    for number in 1...20 { finish(url(number), nil, in: cluster) }
    _ = run(job, in: cluster, sign: .answered) { _, second in
      second < seconds ? Self.refused : nil
    }
    #expect(cluster.counts(job)?.done == 20 + lineCount)
  }

  @Test func `lines that an outage breaks off at the end of a list are not lost to it`() {
    let (cluster, job) = cluster(lineCount: 2)
    let brokenOff = Failure(
      stage: .fetch, code: .truncatedBody, httpStatus: 200, detail: "it broke off")
    for number in 1...2 { finish(url(number), brokenOff, in: cluster) }
    _ = run(job, in: cluster, sign: .answered) { _, second in second < 30 ? Self.refused : nil }
    #expect(cluster.counts(job)?.done == 2)
  }

  @Test func `a line is given up that cannot be connected to while its host answers others`() {
    let (cluster, job) = cluster(ratePerMinute: 60, lineCount: 200)
    _ = run(job, in: cluster, sign: .answered) { line, _ in line == url(2) ? Self.refused : nil }
    #expect(cluster.counts(job)?.done == 199)
    #expect(cluster.fetchStarts.count { $0 == url(2) } == Source.repeatMaximum + 3)
  }

  @Test func `the few lines of a host that has never answered have their attempts, and no more`() {
    let (cluster, job) = cluster(lineCount: 3)
    let seconds = run(job, in: cluster, sign: .answered) { _, _ in Self.refused }
    #expect(seconds < 5)
    #expect(cluster.fetchStarts.count == 9)
    let details = failures(of: job, 0..<3, in: cluster).map(\.detail)
    #expect(details == Array(repeating: "\(Self.refused.detail), the last of 3 attempts", count: 3))
  }

  @Test func `the lines of a host that does not come back fail with one reason, in bounded time`() {
    let (cluster, job) = cluster(ratePerMinute: 600, lineCount: 200)
    let seconds = run(job, in: cluster) { _, second in second < 8 ? nil : Self.refused }
    // 10 failures, then cooldowns of 5, 10, 20 and 40 s.
    #expect((8 + 75...8 + 75 + 3).contains(seconds))
    let failures = failures(of: job, 0..<200, in: cluster)
    #expect(cluster.counts(job)?.failed == failures.count)
    #expect((100...125).contains(failures.count))
    #expect(Set(failures.map(\.detail)) == [Self.notAsked + Self.refused.detail])
    #expect(failures.allSatisfy { $0.isRetryable })
  }

  @Test(arguments: [1, 2, 10, 11, 12, 13, 14])
  func `a URL that always times out does not keep its host down`(number: Int) {
    let (cluster, job) = cluster(ratePerMinute: 600, lineCount: 40)
    let seconds = run(job, in: cluster) { line, second in
      line == url(number) ? Self.silent : second < 30 ? Self.refused : nil
    }
    #expect(seconds < 100)
    #expect(cluster.counts(job)?.done == 39)
    let failures = failures(of: job, number - 1..<number, in: cluster)
    #expect(failures.map(\.detail) == ["nothing came, the last of 3 attempts"])
  }

  @Test func `a probe that fails is no attempt of its line, and the next is another line`() {
    let (cluster, job) = cluster(attempts: 1, lineCount: 40)
    failAll(in: cluster)
    for cooldown in [5, 10, 20] {
      cluster.advance(by: .seconds(cooldown))
      failAll(in: cluster)
    }
    #expect(cluster.fetchStarts.suffix(3) == [url(11), url(12), url(13)])
    #expect(cluster.counts(job)?.failed == HostHealth.failureMaximum)
    cluster.advance(by: .seconds(40))
    #expect(cluster.finished().counts(job)?.done == 30)
  }

  @Test func `lines that have all failed take turns as probes`() {
    let (cluster, _) = cluster(attempts: 9, lineCount: 3)
    failAll(in: cluster)
    for _ in 1...20 where cluster.fetchStarts.count < HostHealth.failureMaximum {
      cluster.advance(by: .seconds(1))
      failAll(in: cluster)
    }
    #expect(cluster.fetchStarts.count == HostHealth.failureMaximum)
    cluster.fetchStarts = []
    for cooldown in [5, 10, 20] {
      cluster.advance(by: .seconds(cooldown))
      failAll(in: cluster)
    }
    #expect(cluster.fetchStarts.count == 3)
    #expect(Set(cluster.fetchStarts).count > 1, "not one line alone")
  }

  @Test func `the probe is the same line again where no other waits`() {
    let (cluster, job) = cluster(attempts: 1, lineCount: 11)
    failAll(in: cluster)
    for cooldown in [5, 10, 20] {
      cluster.advance(by: .seconds(cooldown))
      #expect(cluster.fetching == [url(11)])
      failAll(in: cluster)
    }
    cluster.advance(by: .seconds(40))
    #expect(cluster.finished().counts(job)?.done == 1)
  }

  @Test func `a line that failed goes behind the others until its host answers`() {
    let (cluster, _) = cluster(lineCount: 5)
    finish(url(1), Self.refused, in: cluster)
    cluster.advance(by: .seconds(1))
    finish(url(2), Self.refused, in: cluster)
    #expect(cluster.fetching == [url(3)])
    finish(url(3), nil, in: cluster)
    #expect(cluster.fetching == [url(1)])
  }

  @Test func `lines that wait for a retry fail when their host is given up`() throws {
    let (cluster, first) = cluster(attempts: 20, backoff: .milliseconds(100), lineCount: 1)
    for _ in 1...10 {
      while cluster.fetching.isEmpty { cluster.advance(by: .seconds(1)) }
      finish(url(1), Self.broken, in: cluster)
    }
    let retry = try #require(cluster.scheduler.fetches.sources.nextRetry)
    let others = cluster.answeringLookups { $0.submit((2...21).map { url($0) }) }
    failAll(in: cluster)
    for cooldown in [100, 500, 1_000, 2_000, 4_000] {
      cluster.advance(by: .milliseconds(cooldown))
      failAll(in: cluster)
    }
    #expect(cluster.now.instant < retry)
    #expect(cluster.counts(others)?.failed == 20)
    let details = failures(of: first, 0..<1, in: cluster).map(\.detail)
    let own = ", and the URL itself failed before: the origin answered 500"
    #expect(details == ["\(Self.notAsked)\(Self.refused.detail)\(own)"])
  }
}

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

  @Test(arguments: [NetworkEvidence.answer, .contact, .response, .page, .foreignCertificate])
  mutating func `an answer of any host shows that the network works`(evidence: NetworkEvidence) {
    for group in ["a", "b", "c", "d"] {
      _ = note(Self.silence, of: group)
      #expect(!note(evidence, of: "z"))
      #expect(network.outage == nil)
    }
  }

  @Test
  mutating func `that hosts can be connected to does not end a wait in which nothing arrives`() {
    #expect(note(.noData, of: "a"))
    #expect(network.outage == nil)
    #expect(note(.noData, of: "b"))
    #expect(network.outage?.kind == .noData)
    #expect(note(.contact, of: "c"))
    #expect(!note(.answer, of: "c"))
    #expect(network.outage == nil)
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

  @Test(arguments: [NetworkEvidence.page, .foreignCertificate])
  mutating func `pages or certificates of three hosts within a minute are those of the network`(
    evidence: NetworkEvidence
  ) {
    #expect(!note(evidence, of: "a", after: 0))
    #expect(!note(evidence, of: "b", after: 61))
    #expect(!note(.page, of: "a", after: 62))
    #expect(note(evidence, of: "c", after: 63))
    #expect(network.outage?.kind == .captive)
    #expect(network.outage?.isOfCertificates == (evidence == .foreignCertificate))
    // The portal resolves names and redirects.
    #expect(note(.answer, of: "d", after: 64))
    #expect(!note(.response, of: "d", after: 65))
    #expect(network.outage == nil)
  }

  @Test(arguments: [NetworkEvidence.page, .foreignCertificate])
  mutating func `a response meanwhile shows that they are the hosts' own`(
    evidence: NetworkEvidence
  ) {
    for group in ["a", "b", "c", "d"] {
      #expect(!note(evidence, of: group))
      #expect(!note(.response, of: "z"))
    }
  }

  @Test mutating func `one failure to reach the proxy is enough, and is told`() {
    #expect(note(.silence(isUnrouted: true, proxyFailure: "refused"), of: "a"))
    #expect(network.outage?.kind == .offline)
    #expect(network.outage?.detail == "refused")
    #expect(note(.silence(isUnrouted: true, proxyFailure: "407"), of: "a"))
    #expect(network.outage?.detail == "407", "the one that was asked last")
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

  @Test func `a failed transfer shows what its sign or its code says`() {
    func failure(_ code: Failure.Code, status: Int? = nil) -> Failure {
      Failure(stage: .fetch, code: code, httpStatus: status, detail: "")
    }
    #expect(NetworkEvidence(failure(.dnsFailure), .silent) == .silence(isUnrouted: false))
    #expect(NetworkEvidence(failure(.timeout), .unrouted) == .silence(isUnrouted: true))
    #expect(NetworkEvidence(failure(.dnsFailure), .answered) == .contact)
    #expect(NetworkEvidence(failure(.timeout), .noData) == .noData)
    #expect(NetworkEvidence(failure(.dnsFailure), nil) == .none)
    #expect(NetworkEvidence(failure(.timeout), nil) == .none)
    #expect(NetworkEvidence(failure(.truncatedBody, status: 200), nil) == .none)
    #expect(NetworkEvidence(failure(.tlsFailure), nil) == .answer)
    #expect(NetworkEvidence(failure(.tlsFailure), .foreignCertificate) == .foreignCertificate)
    #expect(NetworkEvidence(failure(.httpStatus, status: 404), nil) == .response)
    #expect(NetworkEvidence(failure(.httpStatus, status: 511), nil) == .page)
    #expect(NetworkEvidence(failure(.notAnImage), .page) == .page)
    #expect(
      NetworkEvidence(failure(.proxyFailure), .unrouted)
        == .silence(isUnrouted: true, proxyFailure: ""))
    #expect(NetworkEvidence(failure(.proxyFailure), nil) == .none)
  }
}
