import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Requests that wait for a limited time.
@Suite struct TimeoutTests {
  private let cluster = ClusterModel.started()

  @Test func `the time of a viewer ends its wait alone, and the fetch goes on for others`() throws {
    let brief = cluster.view(url(1), timeout: .seconds(1))
    let patient = cluster.answeringLookups { $0.view(url(1)) }
    let job = cluster.answeringLookups { $0.submit([url(1)], timeout: .seconds(60)) }
    cluster.advance(by: .milliseconds(999))
    #expect(cluster.answers.isEmpty)
    cluster.advance(by: .milliseconds(1))
    guard case .failed(let failure, _)? = cluster.answers[brief] else {
      Issue.record("it has not failed")
      return
    }
    #expect(failure.code == .timeout && failure.stage == .fetch)
    #expect(failure.isRetryable && failure.detail.contains("1.0 seconds"))
    #expect(cluster.cancelledLeases.isEmpty)
    cluster.finish(url(1))
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.answers[patient]?.failureCode == nil && cluster.answers[patient] != nil)
    #expect(cluster.counts(job)?.done == 1)
    #expect(cluster.scheduler.deadline == nil)
  }

  @Test func `the fetch of a picture is cancelled when the last request for it has timed out`() {
    let viewer = cluster.answeringLookups { $0.view(url(1), timeout: .seconds(1)) }
    cluster.advance(by: .seconds(1))
    #expect(cluster.answers[viewer]?.failureCode == .timeout)
    #expect(cluster.cancelledLeases.count == 1)
  }

  @Test func `the time of a viewer begins after its delay, and includes its wait for a slot`() {
    let narrow = ClusterModel.started(transfers: 1)
    narrow.answeringLookups { $0.submit([url(1)]) }
    let viewer = narrow.view(url(2), delay: .seconds(5), timeout: .seconds(1))
    narrow.advance(by: .seconds(5))
    narrow.answerLookups()
    narrow.advance(by: .milliseconds(999))
    #expect(narrow.answers.isEmpty)
    narrow.advance(by: .milliseconds(1))
    #expect(narrow.answers[viewer]?.failureCode == .timeout)
    #expect(narrow.finished().fetchStarts == [url(1)])
  }

  @Test func `the time of each line begins with its fetch`() {
    let narrow = ClusterModel.started(transfers: 1)
    let job = narrow.answeringLookups {
      $0.submit([url(1), url(2), url(3)], timeout: .seconds(1))
    }
    narrow.advance(by: .milliseconds(900))
    narrow.finish(url(1))
    narrow.advance(by: .milliseconds(900))
    #expect(narrow.fetching == [url(2)])
    narrow.advance(by: .milliseconds(100))
    #expect(narrow.outcome(of: 1, job)?.failureCode == .timeout)
    #expect(narrow.finished().counts(job)?.done == 2)
    #expect(narrow.counts(job)?.retryable == 1)
  }

  @Test func `a line that joins a fetch has its time from then on`() {
    cluster.answeringLookups { $0.submit([url(1)]) }
    cluster.advance(by: .seconds(10))
    let job = cluster.answeringLookups { $0.submit([url(1)], timeout: .seconds(1)) }
    cluster.advance(by: .milliseconds(999))
    #expect(cluster.outcome(of: 0, job) == nil)
    cluster.advance(by: .milliseconds(1))
    #expect(cluster.outcome(of: 0, job)?.failureCode == .timeout)
    #expect(cluster.fetching == [url(1)])
  }

  @Test func `the time of a line goes on while its fetch is repeated`() {
    let cluster = ClusterModel.started(attempts: 5, backoff: .seconds(4))
    let job = cluster.answeringLookups { $0.submit([url(1)], timeout: .milliseconds(10)) }
    cluster.finish(
      url(1), .failed(Failure(stage: .fetch, code: .truncatedBody, detail: "it broke off")))
    cluster.advance(by: .milliseconds(10))
    #expect(cluster.outcome(of: 0, job)?.failureCode == .timeout)
    #expect(cluster.endedJobs[job] != nil)
  }

  @Test func `an upload has a time, too`() {
    let viewer = cluster.upload(timeout: .seconds(1))
    #expect(cluster.answers.isEmpty)
    cluster.advance(by: .seconds(1))
    #expect(cluster.answers[viewer]?.failureCode == .timeout)
  }
}

/// A network that lets connections come about and delivers nothing.
@Suite struct NoDataTests {
  private static let timeout = Outcome.failed(
    Failure(stage: .fetch, code: .timeout, detail: Failure.tooSlow(seconds: 20)))

  private func spread(_ count: Int, perHost: Int = 1, from first: Int = 0) -> [String] {
    (0..<count).map { url($0, host: "host\(first + $0 / perHost).test") }
  }

  /// Nothing comes for 20 s, so that all that runs times out.
  private func timeOut(in cluster: ClusterModel) {
    let running = cluster.fetching
    for url in running { cluster.turn(url, slow: true) }
    cluster.advance(by: .seconds(20))
    for url in running { cluster.finish(url, Self.timeout, sign: .noData) }
    cluster.answerLookups()
  }

  /// - Returns: how many transfers began.
  @discardableResult
  private func pass(_ time: Duration, in cluster: ClusterModel) -> Int {
    cluster.fetchStarts = []
    let end = cluster.now.instant + time
    while cluster.now.instant < end { timeOut(in: cluster) }
    return cluster.fetchStarts.count
  }

  private func finishAll(of cluster: ClusterModel, except silent: Set<String> = []) {
    for url in cluster.fetching where !silent.contains(url) {
      cluster.transferred(url)
      cluster.finish(url)
    }
    cluster.answerLookups()
  }

  @Test(arguments: [2, 5, 80])
  func `a list survives an hour in which nothing arrives, and then goes on`(hostCount: Int) {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { $0.submit(spread(160, perHost: 160 / hostCount)) }
    finishAll(of: cluster)
    timeOut(in: cluster)
    #expect(cluster.scheduler.clusterWait()?.kind == .offline)
    let trials = pass(.seconds(3_600), in: cluster)
    #expect((50...100).contains(trials), "one at a time")
    #expect(cluster.counts(job)?.failed == 0)
    let reason = "connections come about, but nothing arrives from any host"
    #expect(cluster.scheduler.status(of: job)?.wait?.detail == reason)
    cluster.advance(by: .seconds(30))
    #expect(cluster.finished().endedJobs[job]?.counts.done == 160)
    #expect(cluster.networkNews.count == 2, "it is no slow line")
    #expect(cluster.networkNews.first == "offline, jobs wait: \(reason)")
    #expect(cluster.networkNews.last?.hasPrefix("the network works again, after 36") == true)
  }

  @Test func `one silent host fails by itself`() {
    let cluster = ClusterModel.started(attempts: 2)
    let job = cluster.answeringLookups { $0.submit(spread(4, perHost: 4)) }
    for _ in 0..<20 where cluster.endedJobs[job] == nil { timeOut(in: cluster) }
    #expect(cluster.endedJobs[job]?.counts.failed == 4)
    #expect(cluster.fetchStarts.count == 8)
    #expect(cluster.networkNews.isEmpty)
  }

  @Test func `silent hosts that are left at the end of a list fail by themselves`() {
    let cluster = ClusterModel.started(attempts: 3)
    let job = cluster.answeringLookups { $0.submit(spread(12)) }
    cluster.advance(by: .seconds(1))
    finishAll(of: cluster, except: [url(3, host: "host3.test"), url(7, host: "host7.test")])
    for _ in 0..<20 where cluster.endedJobs[job] == nil { timeOut(in: cluster) }
    #expect(cluster.endedJobs[job]?.counts.failed == 2)
    #expect(cluster.endedJobs[job]?.counts.done == 10)
    #expect(cluster.networkNews.isEmpty)
  }

  @Test func `where nothing has come before, silence is waited for ten minutes`() {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { $0.submit(spread(40)) }
    pass(.seconds(600), in: cluster)
    #expect(cluster.counts(job)?.failed == 0)
    pass(.seconds(300), in: cluster)
    #expect(cluster.endedJobs[job]?.counts.failed == 40)
    #expect(cluster.networkNews.last?.hasPrefix("the network is no longer waited for") == true)
  }

  @Test func `a transfer that goes on shows that the network works`() {
    let cluster = ClusterModel.started(attempts: 1)
    let job = cluster.answeringLookups { $0.submit(spread(3)) }
    let silent = cluster.fetching.dropFirst()
    for url in silent { cluster.turn(url, slow: true) }
    cluster.advance(by: .seconds(20))
    for url in silent { cluster.finish(url, Self.timeout, sign: .noData) }
    #expect(cluster.counts(job)?.failed == 2)
    #expect(cluster.networkNews.isEmpty)
  }

  @Test func `the wait ends when something arrives`() throws {
    let cluster = ClusterModel.started(attempts: 1)
    cluster.answeringLookups { $0.submit(spread(3)) }
    timeOut(in: cluster)
    cluster.advance(by: .seconds(3))
    let trial = try #require(cluster.fetching.first)
    cluster.turn(trial, slow: true)
    #expect(cluster.scheduler.clusterWait()?.kind == .offline)
    cluster.turn(trial, slow: false)
    #expect(cluster.scheduler.clusterWait() == nil)
  }
}

/// A line on which a picture takes longer than a transfer may.
@Suite struct CutOffTests {
  /// Of 2 KB a second.
  private static let cutOff = Outcome.failed(
    Failure(
      stage: .fetch, code: .timeout, httpStatus: 200,
      detail: Failure.cutOff(after: .seconds(20), receivedByteCount: 40_000, of: 60_000)),
    bytesFetched: 40_000)

  private func pass(in cluster: ClusterModel) {
    let running = cluster.fetching
    for url in running { cluster.turn(url, slow: true) }
    cluster.advance(by: .seconds(20))
    for url in running { cluster.finish(url, Self.cutOff) }
    cluster.answerLookups()
    cluster.advance(by: .seconds(3))
  }

  private func lines(_ count: Int, of hostCount: Int) -> [String] {
    (0..<count).map { url($0, host: "host\($0 % hostCount)") }
  }

  @Test(arguments: [(60, 12), (120, 3)])
  func `lines that are cut off go behind those that were not tried`(count: Int, hostCount: Int) {
    let cluster = ClusterModel.started(transfers: 4, attempts: 3)
    cluster.answeringLookups { $0.submit(lines(count, of: hostCount)) }
    for _ in 0..<200 where Set(cluster.fetchStarts).count < count { pass(in: cluster) }
    #expect(Set(cluster.fetchStarts).count == count)
    let most = Dictionary(grouping: cluster.fetchStarts) { $0 }.values.map(\.count).max() ?? 0
    #expect(most <= 2 * count / 60, "\(most)")
  }

  @Test func `the status and the log name the setting that pictures need`() throws {
    let cluster = ClusterModel.started(transfers: 8, attempts: 3)
    let job = cluster.answeringLookups { $0.submit(lines(60, of: 12)) }
    for _ in 0..<4 { pass(in: cluster) }
    let words =
      "a slow line: 4 transfers at once; pictures are fetched in vain that need more time: imgctl stop && "
      + "imgctl start --transfer-timeout 40s"
    let wait = try #require(cluster.scheduler.status(of: job, at: cluster.now.instant)?.wait)
    #expect(wait.kind == .slowLine && wait.detail == words)
    #expect(cluster.networkNews == ["a slow line: 4 transfers at once", words])
    #expect(wait.reason != Wait(.slowLine, detail: "a slow line: 4 transfers at once").reason)
    #expect(
      wait.reason
        == Wait(.slowLine, detail: words.replacing("4 transfers", with: "5 transfers")).reason)
  }

  @Test func `lines that are cut off again and again fail, and their hosts are not given up`() {
    let cluster = ClusterModel.started(transfers: 4, attempts: 3)
    let job = cluster.answeringLookups { $0.submit(lines(24, of: 12)) }
    for _ in 0..<100 where cluster.endedJobs[job] == nil { pass(in: cluster) }
    #expect(cluster.endedJobs[job]?.counts.failed == 24)
    let counts = Dictionary(grouping: cluster.fetchStarts) { $0 }.values.map(\.count)
    #expect(counts.max() == Source.vainRepeatMaximum + 3)
    #expect(cluster.hostNews.isEmpty)
    #expect(
      cluster.endedJobs[job]?.counts.bytesFetched == Int64(cluster.fetchStarts.count * 40_000))
  }

  @Test func `the status of a job counts what was fetched in vain`() {
    let cluster = ClusterModel.started(transfers: 4, attempts: 3)
    let job = cluster.answeringLookups { $0.submit(lines(60, of: 12)) }
    pass(in: cluster)
    #expect(cluster.scheduler.status(of: job)?.fetchedByteCount == 160_000)
  }
}

/// What the log says of hosts.
@Suite struct HostNewsTests {
  private static let refused = Failure(stage: .fetch, code: .connectFailure, detail: "refused")

  @Test func `a host that is given up is told once, and when it answers again`() {
    let cluster = ClusterModel.started(perHost: 1, attempts: 3)
    let job = cluster.answeringLookups { $0.submit((1...30).map { url($0) }) }
    for _ in 0..<60 where cluster.endedJobs[job] == nil {
      while let url = cluster.fetching.first {
        cluster.finish(url, .failed(Self.refused))
        cluster.answerLookups()
      }
      cluster.advance(by: .seconds(10))
    }
    #expect(cluster.hostNews.count == 2)
    #expect(
      cluster.hostNews.first
        == "example.com failed 10 times in a row (connect_failure: refused); it is asked less often"
    )
    let words =
      "failed too often and was not asked again (connect_failure: refused); URLs that waited"
    #expect(cluster.hostNews.last?.hasPrefix("example.com \(words) for it: ") == true)
    cluster.advance(by: .seconds(100))
    cluster.answeringLookups { $0.submit([url(31)]) }
    cluster.transferred(url(31))
    cluster.finish(url(31))
    #expect(cluster.hostNews.dropFirst(2) == ["example.com answers again"])
  }

  @Test func `many hosts that are given up at once fill no log`() {
    var news = HostNews()
    let now = Instant.now
    for number in 0..<100 {
      news.noteGivenUp("h\(number)", because: Self.refused, urlCount: 1, at: now)
    }
    #expect(news.take().count == 60)
    news.noteAnswer(of: "h1", at: now + .seconds(2))
    #expect(news.take() == ["h1 answers again; lines on hosts before this one, not shown: 40"])
    news.noteAnswer(of: "h1", at: now + .seconds(9))
    #expect(news.take().isEmpty)
  }
}
