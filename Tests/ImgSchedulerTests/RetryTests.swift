import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// What is tried again, when, and how often.
@Suite struct RetryTests {
  private static let timeout = fetchFailure(.timeout)
  private static let busy = fetchFailure(.httpStatus, status: 503)

  private static func fetchFailure(_ code: Failure.Code, status: Int? = nil) -> Failure {
    Failure(stage: .fetch, code: code, httpStatus: status, detail: "made to fail")
  }

  /// A cluster in which a viewer's URL is being fetched.
  private func cluster(attempts: Int = 3, perHost: Int = 8) -> (ClusterModel, ViewerID) {
    let cluster = ClusterModel.started(perHost: perHost, attempts: attempts)
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    return (cluster, viewer)
  }

  private func failure(of viewer: ViewerID, in cluster: ClusterModel) -> Failure? {
    if case .failed(let failure, _) = cluster.answers[viewer] { failure } else { nil }
  }

  @Test func `a URL is tried so often, and then fails with its last failure`() {
    let (cluster, viewer) = cluster()
    for attempt in 1...3 {
      #expect(cluster.fetchStarts.count == attempt)
      #expect(cluster.answers[viewer] == nil)
      cluster.finish(url(1), .failed(Self.timeout))
      cluster.advance(by: .seconds(60))
    }
    #expect(cluster.fetchStarts.count == 3)
    let failure = failure(of: viewer, in: cluster)
    #expect(failure?.code == .timeout)
    #expect(failure?.detail.contains("3 attempts") == true)
    #expect(cluster.isIdle)
    #expect(cluster.scheduler.fetches.sources.isEmpty)
  }

  @Test func `a job may ask for fewer attempts, and not for more`() {
    for (asked, made) in [(1, 1), (2, 2), (9, 3)] {
      let cluster = ClusterModel.started(attempts: 3)
      let job = cluster.answeringLookups { $0.submit([url(1)], attempts: asked) }
      for _ in 1...made {
        cluster.finish(url(1), .failed(Self.timeout))
        cluster.advance(by: .seconds(60))
      }
      #expect(cluster.fetchStarts.count == made)
      #expect(cluster.counts(job)?.failed == 1)
    }
  }

  @Test func `a URL that two jobs want has the attempts of the one that permits more`() {
    let cluster = ClusterModel.started(attempts: 3)
    cluster.answeringLookups {
      $0.submit([url(1)], attempts: 1)
      $0.submit([url(1)])
    }
    for _ in 1...3 {
      cluster.finish(url(1), .failed(Self.timeout))
      cluster.advance(by: .seconds(60))
    }
    #expect(cluster.fetchStarts.count == 3)
    #expect(cluster.isIdle)
  }

  @Test func `what every attempt has fetched counts, also when the last one fails`() {
    let cluster = ClusterModel.started(attempts: 3)
    let failing = cluster.submit([url(1), url(1)])
    let passing = cluster.answeringLookups { $0.submit([url(2)]) }
    for attempt in 1...3 {
      cluster.finish(url(1), .failed(Self.timeout, bytesFetched: 1_000))
      if attempt < 3 { cluster.finish(url(2), .failed(Self.busy, bytesFetched: 7)) }
      cluster.advance(by: .seconds(60))
    }
    #expect(cluster.finished().counts(failing)?.failed == 2)
    #expect(cluster.counts(failing)?.bytesFetched == 3_000, "once for all lines of the URL")
    #expect(cluster.counts(passing)?.done == 1)
    #expect(cluster.counts(passing)?.bytesFetched == 50_014)
  }

  @Test func `a retry that succeeds is a success, fetched once more`() {
    let (cluster, viewer) = cluster()
    cluster.finish(url(1), .failed(Self.busy))
    cluster.advance(by: .seconds(60))
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
    #expect(cluster.fetchStarts == [url(1), url(1)])
  }

  private static let retried =
    [408, 425, 429, 500, 502, 503, 504].map { fetchFailure(.httpStatus, status: $0) }
    + [.connectFailure, .proxyFailure, .dnsFailure, .timeout, .truncatedBody].map {
      fetchFailure($0)
    }

  private static let final =
    [400, 401, 403, 404, 410].map { fetchFailure(.httpStatus, status: $0) }
    + [.tooLarge, .blockedAddress, .blockedOrigin, .tlsFailure, .tooManyRedirects, .invalidURL]
    .map { fetchFailure($0) }
    + [
      Failure(stage: .decode, code: .corruptImage, detail: ""),
      Failure(stage: .decode, code: .outOfMemory, detail: ""),
      Failure(stage: .store, code: .storeFull, detail: ""),
    ]

  @Test(arguments: retried)
  func `what may pass is tried again`(failure: Failure) {
    let (cluster, viewer) = cluster()
    cluster.finish(url(1), .failed(failure))
    #expect(cluster.answers[viewer] == nil)
  }

  @Test(arguments: final)
  func `what will not pass is not tried again`(failure: Failure) {
    let (cluster, viewer) = cluster()
    cluster.finish(url(1), .failed(failure))
    #expect(cluster.answers[viewer] == .failed(failure))
  }

  @Test func `a retry that waits holds no slot`() {
    let cluster = ClusterModel.started(transfers: 1, attempts: 2)
    cluster.answeringLookups { $0.submit([url(1), url(2)]) }
    cluster.finish(url(1), .failed(Self.timeout))
    #expect(cluster.fetching == [url(2)])
    #expect(cluster.scheduler.transferCount == 1)
  }

  @Test func `the wait is at random below a limit that doubles, up to a minute`() {
    var limits = Limits()
    limits.backoff = .milliseconds(500)
    let backoff = Backoff(limits)
    var jitter = SplitMix64(seed: 7)
    for (attempts, most) in [(1, 0.5), (2, 1), (3, 2), (8, 60), (100, 60)] {
      let waits = (0..<200).map { _ in
        backoff.delay(afterAttempts: attempts, using: &jitter) / .seconds(1)
      }
      #expect(waits.allSatisfy { (0...most).contains($0) })
      #expect((waits.max() ?? 0) > most * 0.9)
      #expect((waits.min() ?? 1) < most * 0.1)
    }
  }

  @Test func `no retry begins beyond the time of its URL`() {
    let (cluster, viewer) = cluster(attempts: 100)
    var attempts = 0
    let end = cluster.now.instant + cluster.scheduler.limits.urlTimeout
    while cluster.answers[viewer] == nil, attempts < 200 {
      attempts += 1
      #expect(cluster.now.instant < end)
      // Each time by a picture's failure of its own, so that the host is not left alone.
      cluster.scheduler.fetches.queue.answered(
        "example.com", begunAt: cluster.now.instant, at: cluster.now.instant)
      cluster.finish(url(1), .failed(Self.timeout))
      while cluster.answers[viewer] == nil, cluster.fetching.isEmpty {
        cluster.advance(by: .seconds(1))
      }
    }
    #expect(failure(of: viewer, in: cluster)?.code == .timeout)
    #expect((2..<100).contains(attempts))
  }

  @Test func `the variants of a URL are tried again together, by one transfer`() {
    let (cluster, viewer) = cluster(attempts: 2)
    let small = cluster.answeringLookups { $0.view(url(1), variant: .small) }
    let fetches = cluster.workers.values.flatMap(\.fetches)
    #expect(fetches.count == 2)
    for fetch in fetches {
      guard let worker = cluster.onlyWorker else { return }
      cluster.finish(fetch, of: worker, .failed(Self.busy))
    }
    cluster.advance(by: .seconds(60))
    #expect(cluster.fetchStarts == [url(1), url(1)])
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
    #expect(cluster.answers[small] == .fetchedSample)
    #expect(cluster.fetchStarts.count == 2)
  }

  @Test func `a viewer that leaves before the retry ends it`() {
    let (cluster, viewer) = cluster()
    cluster.finish(url(1), .failed(Self.busy))
    cluster.leave(viewer)
    #expect(cluster.isIdle)
    #expect(cluster.scheduler.fetches.sources.isEmpty)
    cluster.advance(by: .seconds(60))
    #expect(cluster.fetchStarts.count == 1)
  }

  @Test func `an opt-out fails only the requests that respect it`() throws {
    let (cluster, viewer) = cluster(attempts: 2)
    let minding = cluster.view(url(1), variant: .small, fetch: FetchOptions(respectsRobots: true))
    cluster.answerLookups()
    let (worker, attached) = try #require(cluster.fetch(of: url(1), variant: .small))
    let failure = Failure(stage: .fetch, code: .optedOut, isRetryable: true, detail: "closed")
    cluster.finish(attached, of: worker, .failed(failure))
    #expect(cluster.answers[minding] == .failed(failure))
    cluster.finish(url(1), .failed(Self.timeout))
    cluster.advance(by: .seconds(60))
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
    #expect(cluster.fetchStarts == [url(1), url(1)])
  }

  @Test func `a redirect that a request does not permit fails it alone`() throws {
    let (cluster, viewer) = cluster(attempts: 2)
    let list = try OriginList([OriginPattern(parsing: "example.com/pictures")])
    let strict = cluster.view(url(1), variant: .small, fetch: FetchOptions(redirectOrigins: list))
    cluster.answerLookups()
    let (worker, attached) = try #require(cluster.fetch(of: url(1), variant: .small))
    let failure = Self.fetchFailure(.blockedOrigin)
    cluster.finish(attached, of: worker, .failed(failure), wasRedirected: true)
    #expect(cluster.answers[strict] == .failed(failure))
    let other = cluster.answeringLookups { $0.view(url(1), variant: .medium) }
    #expect(cluster.attachedCount == 2)
    cluster.finish(url(1), variant: .standard, .failed(Self.timeout))
    cluster.finish(url(1), variant: .medium, .failed(Self.timeout))
    let host = cluster.scheduler.fetches.queue.hosts["example.com"]
    #expect(host?.health.failureCount == 1, "the failure counts for its host")
    cluster.advance(by: .seconds(60))
    cluster.finishEverything()
    #expect([viewer, other].allSatisfy { cluster.answers[$0] == .fetchedSample })
    #expect(cluster.fetchStarts == [url(1), url(1)])
  }

  // MARK: - Retry-After

  @Test func `Retry-After holds for all pictures of an origin, and for no other`() {
    let cluster = ClusterModel.started(attempts: 2)
    let other = url(3, host: "b")
    cluster.answeringLookups { $0.submit([url(1)]) }
    guard let (worker, fetch) = cluster.fetch(of: url(1)) else { return }
    cluster.finish(fetch, of: worker, .failed(Self.busy), retryAfter: 30)
    cluster.answeringLookups { $0.submit([url(2), other]) }
    #expect(cluster.fetchStarts == [url(1), other])
    cluster.advance(by: .seconds(29))
    #expect(cluster.fetchStarts == [url(1), other])
    cluster.advance(by: .seconds(1))
    #expect(Set(cluster.fetchStarts) == [url(1), url(2), other])
  }

  @Test func `Retry-After is obeyed for five minutes at most`() {
    let cluster = ClusterModel.started(attempts: 2)
    cluster.answeringLookups { $0.submit([url(1)]) }
    guard let (worker, fetch) = cluster.fetch(of: url(1)) else { return }
    cluster.finish(fetch, of: worker, .failed(Self.busy), retryAfter: .max)
    cluster.advance(by: .seconds(299))
    #expect(cluster.fetchStarts.count == 1)
    cluster.advance(by: .seconds(1))
    #expect(cluster.fetchStarts.count == 2)
  }

  @Test func `Retry-After holds at once, while transfers are under way`() throws {
    let cluster = ClusterModel.started(perHost: 2)
    cluster.answeringLookups { $0.submit((1...4).map { url($0) }) }
    cluster.rest("example.com", seconds: 30, noticedBy: try #require(cluster.onlyWorker))
    cluster.finish(url(1))
    cluster.finish(url(2))
    #expect(cluster.fetchStarts == [url(1), url(2)])
    cluster.advance(by: .seconds(29))
    #expect(cluster.fetchStarts.count == 2)
    cluster.advance(by: .seconds(1))
    #expect(cluster.fetchStarts.count == 4)
  }

  @Test func `what a worker holds back waits for its host, and was no attempt`() throws {
    let (cluster, viewer) = cluster(attempts: 1)
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.rest("example.com", seconds: 30, noticedBy: worker)
    cluster.release(fetch, of: worker)
    #expect(cluster.fetchStarts.count == 1)
    #expect(cluster.scheduler.transferCount == 0)
    cluster.advance(by: .seconds(30))
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
    #expect(cluster.fetchStarts.count == 2)
  }

  // MARK: - Hosts that keep failing

  /// Fails what is fetched of the host until it is left alone.
  private func breakHost(of cluster: ClusterModel) {
    while let url = cluster.fetching.first { cluster.finish(url, .failed(Self.timeout)) }
  }

  @Test func `a host that keeps failing is left alone, and others are not held up`() {
    let cluster = ClusterModel.started(perHost: 2)
    let job = cluster.answeringLookups { $0.submit((1...20).map { url($0) }) }
    breakHost(of: cluster)
    #expect(cluster.fetchStarts.count == HostHealth.failureMaximum + 1)
    let other = cluster.view(url(1, host: "b"))
    #expect(cluster.finished().answers[other] == .fetchedSample)
    #expect(cluster.counts(job)?.failed == HostHealth.failureMaximum + 1)
    #expect(cluster.status(job)?.state == .running)
  }

  @Test func `a host that stays down fails its waiting URLs, and is tried for later ones`() {
    let cluster = ClusterModel.started(perHost: 2)
    let job = cluster.answeringLookups { $0.submit((1...500).map { url($0) }) }
    breakHost(of: cluster)
    for rest in [5, 10, 20, 40] {
      #expect(cluster.status(job)?.state == .running)
      cluster.advance(by: .seconds(rest))
      #expect(cluster.fetching.count == 1)
      breakHost(of: cluster)
      cluster.answerLookups()
    }
    #expect(cluster.counts(job)?.failed == 500)
    #expect(cluster.fetchStarts.count == HostHealth.failureMaximum + 5)
    guard case .failed(let failure, _) = cluster.outcome(of: 499, job) else { return }
    #expect(failure.code == .timeout)
    #expect(failure.isRetryable)
    #expect(failure.detail.contains("failed too often"))

    cluster.advance(by: .seconds(80))
    let viewer = cluster.view(url(1))
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `a URL that fails in several variants has one outcome in each`() {
    let cluster = ClusterModel.started(perHost: 2)
    let jobs = [Variant.standard, .small].map { variant in
      cluster.submit((1...40).map { url($0) }, variant: variant)
    }
    cluster.answerLookups()
    breakHost(of: cluster)
    cluster.answerLookups()
    for rest in [5, 10, 20, 40] {
      cluster.advance(by: .seconds(rest))
      breakHost(of: cluster)
      cluster.answerLookups()
    }
    #expect(jobs.map { cluster.counts($0)?.failed } == [40, 40])
    #expect(cluster.isIdle)
  }

  @Test func `what fails behind a redirect is not blamed on the host that sent there`() {
    let cluster = ClusterModel.started(perHost: 2)
    let job = cluster.answeringLookups { $0.submit((1...40).map { url($0) }) }
    while let url = cluster.fetching.first, let (worker, fetch) = cluster.fetch(of: url) {
      cluster.finish(fetch, of: worker, .failed(Self.timeout), wasRedirected: true)
      cluster.answerLookups()
    }
    #expect(cluster.counts(job)?.failed == 40)
    #expect(cluster.fetchStarts.count == 40)
  }

  private static let ofURLs =
    [404, 403, 410, 500, 502, 504].map { fetchFailure(.httpStatus, status: $0) }
    + [fetchFailure(.truncatedBody, status: 200), fetchFailure(.invalidResponse)]

  @Test(arguments: ofURLs)
  func `what is wrong with URLs does not count against their host`(failure: Failure) {
    let cluster = ClusterModel.started()
    let job = cluster.answeringLookups { $0.submit((1...40).map { url($0) }) }
    while let url = cluster.fetching.first {
      cluster.finish(url, .failed(failure))
      cluster.answerLookups()
    }
    #expect(cluster.counts(job)?.failed == 40)
    #expect(cluster.fetchStarts.count == 40)
  }

  private static let ofHosts =
    [429, 503].map { fetchFailure(.httpStatus, status: $0) }
    + [.dnsFailure, .connectFailure, .tlsFailure, .timeout].map { fetchFailure($0) }

  @Test(arguments: ofHosts)
  func `a host that does not answer, or asks for patience, is left alone`(failure: Failure) {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.answeringLookups { $0.submit((1...40).map { url($0) }) }
    while let url = cluster.fetching.first { cluster.finish(url, .failed(failure)) }
    #expect(cluster.fetchStarts.count == HostHealth.failureMaximum)
  }

  private static let answers: [Failure?] = [
    nil, fetchFailure(.httpStatus, status: 404), fetchFailure(.httpStatus, status: 500),
    Failure(stage: .decode, code: .notAnImage, detail: "an HTML page"),
  ]

  @Test(arguments: answers)
  func `one answer among failures of the host ends the row`(failure: Failure?) {
    let cluster = ClusterModel.started(perHost: 1)
    let job = cluster.answeringLookups { $0.submit((1...40).map { url($0) }) }
    while let url = cluster.fetching.first {
      if !cluster.fetchStarts.count.isMultiple(of: HostHealth.failureMaximum) {
        cluster.finish(url, .failed(Self.timeout))
      } else if let failure {
        cluster.finish(url, .failed(failure))
      } else {
        cluster.transferred(url)
        cluster.finish(url)
      }
      cluster.answerLookups()
    }
    #expect(cluster.fetchStarts.count == 40)
    #expect(cluster.finished().endedJobs[job] != nil)
  }

  @Test func `a URL keeps its own reason beside that of its host, and can be retried`() throws {
    let cluster = ClusterModel.started(perHost: 1, attempts: 2, backoff: .seconds(60))
    let job = cluster.answeringLookups { $0.submit((1...40).map { url($0) }) }
    let own = Failure(
      stage: .fetch, code: .httpStatus, httpStatus: 500, detail: "the origin answered 500")
    for number in 1...6 { cluster.finish(url(number), .failed(own)) }
    let ofHost = Failure(stage: .fetch, code: .tlsFailure, detail: "no handshake")
    while cluster.endedJobs[job] == nil {
      if let url = cluster.fetching.first {
        cluster.finish(url, .failed(ofHost))
      } else {
        cluster.advance(by: .seconds(300))
      }
      cluster.answerLookups()
    }
    let notAsked = "example.com failed too often and was not asked again: no handshake"
    let former = ", and the URL itself failed before: the origin answered 500"
    for (index, detail) in [(5, notAsked + former), (39, notAsked)] {
      guard case .failed(let last, _)? = cluster.outcome(of: index, job) else {
        Issue.record("\(index) has not failed")
        continue
      }
      #expect(last.detail == detail)
      #expect(last.isRetryable, "whatever the host fails with")
    }
  }
}
