import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Explicit commands and hosts that are left alone.
@Suite struct ProbeTests {
  private static let host = "example.com"
  private static let busy = Outcome.failed(
    Failure(stage: .fetch, code: .httpStatus, httpStatus: 503, detail: "the origin answered 503"))

  /// Fails what is fetched until nothing is.
  private func failAll(in cluster: ClusterModel) {
    while let url = cluster.fetching.first {
      cluster.finish(url, Self.busy)
      cluster.answerLookups()
    }
  }

  /// A cluster whose job has failed because its host is down.
  ///
  /// - Parameter knownMissing: a picture that the host had not before.
  private func clusterOfDownHost(
    lineCount: Int = 40, knownMissing: String? = nil
  ) -> (ClusterModel, JobID) {
    let cluster = ClusterModel.started(perHost: 2)
    if let knownMissing {
      cluster.answeringLookups { $0.view(knownMissing) }
      cluster.finish(
        knownMissing,
        .failed(Failure(stage: .fetch, code: .httpStatus, httpStatus: 404, detail: "missing")))
    }
    let job = cluster.answeringLookups { $0.submit((1...lineCount).map { url($0) }) }
    failAll(in: cluster)
    for cooldown in [5, 10, 20, 40] {
      cluster.advance(by: .seconds(cooldown))
      failAll(in: cluster)
    }
    #expect(cluster.endedJobs[job]?.counts.failed == lineCount)
    #expect(cluster.isIdle)
    cluster.fetchStarts = []
    return (cluster, job)
  }

  private func retry(_ job: JobID, in cluster: ClusterModel) {
    #expect(cluster.change(job, .retry(includesFinal: false)))
    cluster.answerLookups()
  }

  // MARK: - Retry

  @Test func `a retry sends one probe to a host that is down, and goes on when it succeeds`() {
    let (cluster, job) = clusterOfDownHost()
    retry(job, in: cluster)
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.counts(job)?.failed == 0)
    #expect(cluster.finished().counts(job)?.done == 40)
  }

  @Test func `a retry of 1,000 URLs sends one probe, and fails with it`() {
    let (cluster, job) = clusterOfDownHost(lineCount: 1_000)
    retry(job, in: cluster)
    failAll(in: cluster)
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.endedJobs[job]?.counts.failed == 1_000)
    guard case .failed(let failure, _) = cluster.outcome(of: 999, job) else { return }
    #expect(failure.detail.contains("failed too often"))
    #expect(failure.detail.contains("the origin answered 503"))
  }

  @Test func `a retry sends a probe to each of its hosts`() {
    let cluster = ClusterModel.started()
    let hosts = ["a", "b"]
    let job = cluster.submit(hosts.flatMap { host in (1...20).map { url($0, host: host) } })
    cluster.answerLookups()
    failAll(in: cluster)
    for cooldown in [5, 10, 20, 40] {
      cluster.advance(by: .seconds(cooldown))
      failAll(in: cluster)
    }
    cluster.fetchStarts = []
    retry(job, in: cluster)
    #expect(Set(cluster.fetchStarts) == Set(hosts.map { url(1, host: $0) }))
  }

  @Test func `a job that was not retried sends no probe`() {
    let (cluster, _) = clusterOfDownHost()
    let job = cluster.answeringLookups { $0.submit([url(1), url(2)]) }
    #expect(cluster.fetchStarts.isEmpty)
    #expect(cluster.counts(job)?.failed == 2)
  }

  // MARK: - Get

  @Test func `a get of a URL at a host that is down is a probe`() {
    let (cluster, _) = clusterOfDownHost()
    let viewer = cluster.answeringLookups { $0.view(url(41)) }
    #expect(cluster.fetchStarts == [url(41)])
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
    // The host is well again for all.
    cluster.submit([url(1), url(2)])
    #expect(cluster.finished().fetchStarts == [url(41), url(1), url(2)])
  }

  @Test func `a get is a probe also where the host is left alone for the first time`() {
    let cluster = ClusterModel.started(perHost: 2)
    let job = cluster.answeringLookups { $0.submit((1...20).map { url($0) }) }
    failAll(in: cluster)
    #expect(cluster.status(job)?.state == .running)
    cluster.fetchStarts = []
    cluster.answeringLookups { $0.view(url(21)) }
    #expect(cluster.fetchStarts == [url(21)])
    #expect(cluster.finished().counts(job)?.finished == 20)
  }

  @Test func `gets that come while a probe is under way share its result`() {
    let (cluster, _) = clusterOfDownHost()
    let viewers = (41...45).map { cluster.view(url($0)) }
    cluster.answerLookups()
    #expect(cluster.fetchStarts == [url(41)])
    failAll(in: cluster)
    #expect(cluster.fetchStarts == [url(41)])
    #expect(viewers.allSatisfy { cluster.answers[$0]?.failureCode == .httpStatus })
    cluster.answeringLookups { $0.view(url(46)) }
    #expect(cluster.fetchStarts == [url(41), url(46)])
  }

  @Test func `a failed probe does not prolong the cooldown`() {
    let (cluster, _) = clusterOfDownHost()
    let until = cluster.scheduler.fetches.queue.hosts[Self.host]?.health.coolingDownUntil
    cluster.answeringLookups { $0.view(url(41)) }
    failAll(in: cluster)
    #expect(cluster.scheduler.fetches.queue.hosts[Self.host]?.health.coolingDownUntil == until)
  }

  @Test func `an abandoned probe is replaced by the next one`() throws {
    let (cluster, job) = clusterOfDownHost()
    let viewer = cluster.answeringLookups { $0.view(url(41)) }
    retry(job, in: cluster)
    #expect(cluster.fetchStarts == [url(41)])
    let (worker, fetch) = try #require(cluster.fetch(of: url(41)))
    cluster.leave(viewer)
    cluster.finish(fetch, of: worker, .cancelled)
    #expect(cluster.fetchStarts == [url(41), url(1)])
    #expect(cluster.finished().counts(job)?.done == 40)
  }

  @Test func `a probe waits while the host has every transfer that it may have`() throws {
    let cluster = ClusterModel.started(perHost: 2)
    cluster.answeringLookups { $0.submit((1...20).map { url($0) }) }
    // One hangs while the others fail.
    while cluster.fetching.count == 2 { cluster.finish(cluster.fetching[1], Self.busy) }
    #expect(cluster.fetching == [url(1)])
    let first = cluster.answeringLookups { $0.view(url(21)) }
    #expect(cluster.fetching == [url(1), url(21)])
    cluster.finish(url(21), Self.busy)
    #expect(cluster.answers[first]?.failureCode == .httpStatus)
  }

  @Test func `a get of a picture that is known to be missing leaves no probe to others`() {
    let (cluster, _) = clusterOfDownHost(knownMissing: url(50))
    let viewer = cluster.answeringLookups { $0.view(url(50)) }
    #expect(cluster.answers[viewer] != nil)
    let job = cluster.answeringLookups { $0.submit([url(1), url(2)]) }
    #expect(cluster.counts(job)?.failed == 2)
  }

  // MARK: - Retry-After

  @Test func `an explicit command waits until the origin's time, then is a probe`() throws {
    let (cluster, job) = clusterOfDownHost()
    cluster.rest(Self.host, seconds: 30, noticedBy: try #require(cluster.onlyWorker))
    let viewer = cluster.view(url(41))
    retry(job, in: cluster)
    cluster.advance(by: .seconds(29))
    #expect(cluster.fetchStarts.isEmpty)
    #expect(cluster.answers[viewer] == nil)
    cluster.advance(by: .seconds(1))
    #expect(cluster.fetchStarts == [url(41)])
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
    #expect(cluster.counts(job)?.done == 40)
  }

  @Test func `a get that does not wait for that time leaves no probe to others`() throws {
    let (cluster, _) = clusterOfDownHost()
    cluster.rest(Self.host, seconds: 30, noticedBy: try #require(cluster.onlyWorker))
    let viewer = cluster.answeringLookups { $0.view(url(41), maximumRetryAfter: .seconds(2)) }
    #expect(cluster.answers[viewer]?.failureCode == .httpStatus)
    let job = cluster.answeringLookups { $0.submit([url(1), url(2)]) }
    #expect(cluster.counts(job)?.failed == 2)
  }

  // MARK: - Cooldown

  @Test func `how long a failing host is left alone follows the backoff`() {
    let now = Instant.now
    for backoff in [Duration.milliseconds(20), .seconds(1), .seconds(3_600)] {
      var health = HostHealth(backoff: backoff)
      for _ in 1...HostHealth.failureMaximum {
        health.failed(Failure(stage: .fetch, code: .timeout, detail: ""), begunAt: now, at: now)
      }
      #expect(health.coolingDownUntil == now + min(backoff * 5, .seconds(300)))
    }
  }
}

/// Of the pictures that are fetched only where robots.txt allows it, the first of an origin goes
/// alone, so that one worker asks for the file and the others find it.
@Suite(.timeLimit(.minutes(20))) struct RobotsProbeTests {
  private let respectful = FetchOptions(respectsRobots: true)

  /// One worker takes the lines in their order.
  private func cluster(_ lines: [String], _ fetch: FetchOptions, workers: Int = 1) -> ClusterModel {
    let cluster = ClusterModel.started(workers: workers)
    cluster.answeringLookups { $0.submit(lines, fetch: fetch) }
    return cluster
  }

  @Test func `the first of an origin goes alone, then all others`() {
    let cluster = cluster((1...5).map { url($0) }, respectful)
    #expect(cluster.fetching == [url(1)])
    cluster.finish(url(1))
    #expect(cluster.fetching.count == 4)
    cluster.answeringLookups { $0.submit((6...8).map { url($0) }, fetch: respectful) }
    #expect(cluster.fetching.count == 7)
  }

  @Test func `what it has learned lets others go, though its picture is to come`() throws {
    let cluster = cluster((1...3).map { url($0) }, respectful)
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.handle(
      .fromWorker(
        worker, .hostUpdates(HostUpdates(robotsKnown: [LeaseID(rawValue: 99)]))))
    #expect(cluster.fetching == [url(1)])
    cluster.handle(.fromWorker(worker, .hostUpdates(HostUpdates(robotsKnown: [fetch.lease]))))
    #expect(cluster.fetching == [url(1), url(2), url(3)])
    // The next origin of the host has a probe of its own, which goes on when the first one ends.
    let others = [url(4, host: "example.com:81"), url(5, host: "example.com:81")]
    cluster.answeringLookups { $0.submit(others, fetch: respectful) }
    cluster.finish(url(1))
    #expect(cluster.fetching == [url(2), url(3), others[0]])
  }

  @Test func `it is named by the lease that began it, though that has left`() throws {
    let cluster = ClusterModel.started()
    let viewer = cluster.answeringLookups { $0.view(url(1), fetch: respectful) }
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.view(url(1), variant: .small, fetch: respectful)
    cluster.answeringLookups { $0.submit([url(2)], fetch: respectful) }
    cluster.leave(viewer)
    #expect(!cluster.fetching.contains(url(2)))
    cluster.handle(.fromWorker(worker, .hostUpdates(HostUpdates(robotsKnown: [fetch.lease]))))
    #expect(cluster.fetching.contains(url(2)))
  }

  @Test func `its end lets the others go, however it ended`() throws {
    let cluster = cluster((1...3).map { url($0) }, respectful)
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.finish(fetch, of: worker, .failure(.optedOut))
    #expect(cluster.fetching == [url(2), url(3)])
  }

  @Test func `the death of its worker lets the others go`() throws {
    let cluster = cluster((1...3).map { url($0) }, respectful, workers: 2)
    let first = try #require(cluster.fetching.first)
    cluster.exit(try #require(cluster.fetch(of: first)?.worker), .crashed("SIGSEGV"))
    #expect(cluster.fetching.count == 2)
    #expect(!cluster.fetching.contains(first))
    #expect(cluster.startsUntilIdle().count == 1)
  }

  @Test func `other hosts, and requests that ignore robots.txt, go at once`() {
    #expect(cluster((1...3).map { url($0) }, .standard).fetching.count == 3)
    let cluster = cluster(spreadURLs(1...3), respectful)
    #expect(cluster.fetching.count == 3)
  }

  @Test func `another port is another origin of the same host`() {
    let lines = [url(1), url(2), url(3, host: "example.com:81"), url(4, host: "example.com:81")]
    let cluster = cluster(lines, respectful)
    #expect(cluster.fetching == [lines[0]])
    cluster.finish(lines[0])
    #expect(cluster.fetching.contains(lines[1]))
    #expect(!cluster.fetching.contains(lines[3]))
    cluster.finish(lines[1])
    cluster.finish(lines[2])
    #expect(cluster.fetching == [lines[3]])
  }
}

/// Viewers of hosts whose circuit breaker is open.
@Suite struct OutageTests {
  private static let host = "example.com"

  private static func answer(_ status: Int) -> Failure {
    Failure(
      stage: .fetch, code: .httpStatus, httpStatus: status, detail: "the origin answered \(status)")
  }

  private func failure(_ viewer: ViewerID, in cluster: ClusterModel) throws -> Failure {
    let failure: Failure? =
      if case .failed(let failure, _) = cluster.answers[viewer] { failure } else { nil }
    return try #require(failure)
  }

  private func failOften(_ cluster: ClusterModel, _ failure: Failure) {
    for number in 101...100 + HostHealth.failureMaximum {
      cluster.answeringLookups { $0.view(url(number)) }
      cluster.finish(url(number), .failed(failure))
    }
  }

  @Test func `failures of a proxy do not count against the hosts behind it`() {
    let cluster = ClusterModel.started(attempts: 3)
    failOften(cluster, Failure(stage: .fetch, code: .proxyFailure, detail: "it hung up"))
    cluster.answeringLookups { $0.view(url(1)) }
    #expect(cluster.fetchStarts.last == url(1))
    #expect(cluster.scheduler.fetches.queue.hosts[Self.host]?.health.failureCount == 0)
  }

  /// Opens the breaker of the host: for 5 s, then for twice as long.
  private func failOften(_ cluster: ClusterModel) {
    failOften(cluster, Self.answer(503))
    #expect(cluster.scheduler.fetches.queue.hosts[Self.host]?.health.isTripped == true)
    cluster.fetchStarts = []
  }

  @Test func `a viewer of a host that fails sends a probe, and fails with it at once`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    failOften(cluster)
    for count in 1...3 {
      let viewer = cluster.answeringLookups { $0.view(url(count), maximumRetryAfter: .seconds(2)) }
      #expect(cluster.fetchStarts.count == count)
      cluster.finish(url(count), .failed(Self.answer(429)))
      let failure = try failure(viewer, in: cluster)
      #expect(failure.httpStatus == 429)
      #expect(failure.isRetryable)
      #expect(failure.retryAt != nil)
      #expect(failure.detail.contains("fails again and again"))
      #expect(failure.detail.hasSuffix("its last failure: the origin answered 429"))
    }
  }

  @Test func `viewers wait for a probe that is under way, and have its result`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    failOften(cluster)
    let viewers = (1...3).map { cluster.view(url($0), maximumRetryAfter: .seconds(2)) }
    let patient = cluster.answeringLookups { $0.view(url(1)) }
    #expect(cluster.fetchStarts == [url(1)])
    for viewer in viewers { #expect(cluster.answers[viewer] == nil) }
    cluster.finish(url(1), .failed(Self.answer(429)))
    for viewer in viewers { #expect(try failure(viewer, in: cluster).httpStatus == 429) }
    #expect(cluster.answers[patient] == nil)
    cluster.advance(by: .seconds(300))
    #expect(cluster.finished().answers[patient] == .fetchedSample)
    #expect(cluster.isIdle)
  }

  private static let refused = Failure(
    stage: .fetch, code: .connectFailure, detail: "the connection was refused")

  @Test(arguments: [NetworkSign.answered, .silent], [Failure.Code.connectFailure, .timeout])
  func `a viewer fails at once if no connection comes about`(
    sign: NetworkSign, code: Failure.Code
  ) {
    let refused = Failure(stage: .fetch, code: code, detail: "no connection")
    let cluster = ClusterModel.started(attempts: 3)
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    let job = cluster.answeringLookups { $0.submit([url(1)]) }
    cluster.finish(url(1), .failed(refused), sign: sign)
    #expect(cluster.answers[viewer] == .failed(refused))
    #expect(cluster.fetching.isEmpty && cluster.counts(job)?.finished == 0)
    cluster.advance(by: .seconds(60))
    #expect(cluster.finished().counts(job)?.done == 1)
    #expect(cluster.fetchStarts.count == 2)
    #expect(cluster.isIdle)
  }

  @Test func `a viewer has its attempts if the connection broke off`() {
    let cluster = ClusterModel.started(attempts: 3)
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    cluster.finish(url(1), .failed(Self.refused))
    #expect(cluster.answers[viewer] == nil)
    cluster.advance(by: .seconds(60))
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `no viewer waits for the cooldown of a host that cannot be connected to`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    failOften(cluster)
    let viewers = (1...3).map { cluster.view(url($0)) }
    cluster.answerLookups()
    #expect(cluster.fetchStarts == [url(1)])
    cluster.finish(url(1), .failed(Self.refused), sign: .answered)
    #expect(cluster.answers[viewers[0]] == .failed(Self.refused))
    for viewer in viewers.dropFirst() {
      let failure = try failure(viewer, in: cluster)
      #expect(failure.code == .connectFailure && failure.retryAt != nil)
      #expect(failure.detail.hasSuffix("its last failure: the connection was refused"))
    }
    #expect(cluster.isIdle)
  }

  @Test func `a viewer waits for a host that fails, if that is not too long`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    failOften(cluster)
    let viewer = cluster.answeringLookups { $0.view(url(1), maximumRetryAfter: .seconds(300)) }
    cluster.finish(url(1), .failed(Self.answer(429)))
    #expect(cluster.answers[viewer] == nil)
    cluster.advance(by: .seconds(300))
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }
}
