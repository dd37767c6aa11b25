import ImgModel
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
      cluster.view(knownMissing)
      cluster.answerLookups()
      cluster.finish(
        knownMissing,
        .failed(Failure(stage: .fetch, code: .httpStatus, httpStatus: 404, detail: "missing")))
    }
    let job = cluster.submit((1...lineCount).map { url($0) })
    cluster.answerLookups()
    failAll(in: cluster)
    for cooldown in [5, 10, 20, 40] {
      cluster.advance(by: .seconds(cooldown))
      failAll(in: cluster)
    }
    #expect(cluster.endedJobs[job]?.counts.failed == lineCount)
    #expect(cluster.scheduler.isIdle)
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
    cluster.finishEverything()
    #expect(cluster.counts(job)?.done == 40)
  }

  @Test func `a retry of 1,000 URLs sends one probe, and fails with it`() {
    let (cluster, job) = clusterOfDownHost(lineCount: 1_000)
    retry(job, in: cluster)
    failAll(in: cluster)
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.endedJobs[job]?.counts.failed == 1_000)
    guard case .failed(let failure, _) = cluster.outcome(of: 999, job) else { return }
    #expect(failure.detail.contains("down"))
    #expect(failure.detail.contains("the origin answered 503"))
  }

  @Test func `each retry sends a probe`() {
    let (cluster, job) = clusterOfDownHost()
    for count in 1...3 {
      retry(job, in: cluster)
      failAll(in: cluster)
      #expect(cluster.fetchStarts.count == count)
    }
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
    let job = cluster.submit([url(1), url(2)])
    cluster.answerLookups()
    #expect(cluster.fetchStarts.isEmpty)
    #expect(cluster.counts(job)?.failed == 2)
  }

  // MARK: - Get

  @Test func `a get of a URL at a host that is down is a probe`() {
    let (cluster, _) = clusterOfDownHost()
    let viewer = cluster.view(url(41))
    cluster.answerLookups()
    #expect(cluster.fetchStarts == [url(41)])
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
    // The host is well again for all.
    cluster.submit([url(1), url(2)])
    cluster.finishEverything()
    #expect(cluster.fetchStarts == [url(41), url(1), url(2)])
  }

  @Test func `a get is a probe also where the host is left alone for the first time`() {
    let cluster = ClusterModel.started(perHost: 2)
    let job = cluster.submit((1...20).map { url($0) })
    cluster.answerLookups()
    failAll(in: cluster)
    #expect(cluster.status(job)?.state == .running)
    cluster.fetchStarts = []
    cluster.view(url(21))
    cluster.answerLookups()
    #expect(cluster.fetchStarts == [url(21)])
    cluster.finishEverything()
    #expect(cluster.counts(job)?.finished == 20)
  }

  @Test func `gets that come while a probe is under way share its result`() {
    let (cluster, _) = clusterOfDownHost()
    let viewers = (41...45).map { cluster.view(url($0)) }
    cluster.answerLookups()
    #expect(cluster.fetchStarts == [url(41)])
    failAll(in: cluster)
    #expect(cluster.fetchStarts == [url(41)])
    #expect(viewers.allSatisfy { cluster.answers[$0]?.failureCode == .httpStatus })
    cluster.view(url(46))
    cluster.answerLookups()
    #expect(cluster.fetchStarts == [url(41), url(46)])
  }

  @Test func `a failed probe does not prolong the cooldown`() {
    let (cluster, _) = clusterOfDownHost()
    let until = cluster.scheduler.transferQueue.hosts[Self.host]?.health.coolingDownUntil
    cluster.view(url(41))
    cluster.answerLookups()
    failAll(in: cluster)
    #expect(cluster.scheduler.transferQueue.hosts[Self.host]?.health.coolingDownUntil == until)
  }

  @Test func `an abandoned probe is replaced by the next one`() throws {
    let (cluster, job) = clusterOfDownHost()
    let viewer = cluster.view(url(41))
    cluster.answerLookups()
    retry(job, in: cluster)
    #expect(cluster.fetchStarts == [url(41)])
    let (worker, fetch) = try #require(cluster.fetch(of: url(41)))
    cluster.leave(viewer)
    cluster.finish(fetch, of: worker, .cancelled)
    #expect(cluster.fetchStarts == [url(41), url(1)])
    cluster.finishEverything()
    #expect(cluster.counts(job)?.done == 40)
  }

  @Test func `a probe waits while the host has every transfer that it may have`() throws {
    let cluster = ClusterModel.started(perHost: 2)
    cluster.submit((1...20).map { url($0) })
    cluster.answerLookups()
    // One hangs while the others fail.
    while cluster.fetching.count == 2 { cluster.finish(cluster.fetching[1], Self.busy) }
    #expect(cluster.fetching == [url(1)])
    let first = cluster.view(url(21))
    cluster.answerLookups()
    #expect(cluster.fetching == [url(1), url(21)])
    cluster.finish(url(21), Self.busy)
    #expect(cluster.answers[first]?.failureCode == .httpStatus)
  }

  @Test func `a get of a picture that is known to be missing leaves no probe to others`() {
    let (cluster, _) = clusterOfDownHost(knownMissing: url(50))
    let viewer = cluster.view(url(50))
    cluster.answerLookups()
    #expect(cluster.answers[viewer] != nil)
    let job = cluster.submit([url(1), url(2)])
    cluster.answerLookups()
    #expect(cluster.counts(job)?.failed == 2)
  }

  // MARK: - Retry-After

  @Test func `an explicit command waits for the time that the origin has named, then is a probe`()
    throws
  {
    let (cluster, job) = clusterOfDownHost()
    cluster.rest(Self.host, seconds: 30, noticedBy: try #require(cluster.onlyWorker))
    let viewer = cluster.view(url(41))
    retry(job, in: cluster)
    cluster.advance(by: .seconds(29))
    #expect(cluster.fetchStarts.isEmpty)
    #expect(cluster.answers[viewer] == nil)
    cluster.advance(by: .seconds(1))
    #expect(cluster.fetchStarts == [url(41)])
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.counts(job)?.done == 40)
  }

  @Test func `a get that does not wait for that time leaves no probe to others`() throws {
    let (cluster, _) = clusterOfDownHost()
    cluster.rest(Self.host, seconds: 30, noticedBy: try #require(cluster.onlyWorker))
    let viewer = cluster.view(url(41), maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    #expect(cluster.answers[viewer]?.failureCode == .httpStatus)
    let job = cluster.submit([url(1), url(2)])
    cluster.answerLookups()
    #expect(cluster.counts(job)?.failed == 2)
  }

  // MARK: - Cooldown

  @Test func `how long a failing host is left alone follows the backoff`() {
    let now = ContinuousClock.now
    for backoff in [Duration.milliseconds(20), .seconds(1), .seconds(3_600)] {
      var health = HostHealth(backoff: backoff)
      for _ in 1...HostHealth.failureMaximum {
        health.failed(
          Failure(stage: .fetch, code: .timeout, detail: ""), begunAt: now, at: now)
      }
      #expect(health.coolingDownUntil == now + min(backoff * 5, .seconds(300)))
    }
  }
}
