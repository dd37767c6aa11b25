import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Transfers whose redirects lead to other hosts.
@Suite struct RedirectTests {
  private static let target = "target.example"

  /// The transfers of one URL at each of so many hosts are redirected to one host.
  private func cluster(
    hosts: Int, perHost: Int = 2, ratePerMinute: Int = 0
  ) -> (ClusterModel, [String]) {
    let cluster = ClusterModel.started(perHost: perHost, ratePerMinute: ratePerMinute)
    let urls = spreadURLs(1...hosts)
    for url in urls { cluster.view(url) }
    cluster.answerLookups()
    for url in urls { cluster.redirect(url, to: Self.target) }
    return (cluster, urls)
  }

  @Test func `redirects of many hosts to one keep that one's limit`() {
    let (cluster, urls) = cluster(hosts: 8)
    #expect(cluster.scheduler.transferCount == 2)
    #expect(cluster.redirectedURLs.count == 6)
    for _ in urls {
      let going = urls.first { url in
        cluster.fetching.contains(url) && !cluster.redirectedURLs.contains(url)
      }
      guard let going else { break }
      cluster.transferred(going)
      cluster.finish(going)
    }
    #expect(cluster.answers.count == 8)
    #expect(cluster.peakPerHost == 2)
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `a redirected transfer takes a token of the host it leads to`() {
    let (cluster, _) = cluster(hosts: 3, perHost: 8, ratePerMinute: 60)
    #expect(cluster.redirectedURLs.count == 2)
    cluster.advance(by: .seconds(1))
    #expect(cluster.redirectedURLs.count == 1)
  }

  @Test func `a redirected transfer waits until the host's Retry-After is over`() throws {
    let cluster = ClusterModel.started()
    cluster.view(url(1))
    cluster.answerLookups()
    let (worker, _) = try #require(cluster.fetch(of: url(1)))
    cluster.rest(Self.target, seconds: 5, noticedBy: worker)
    cluster.redirect(url(1), to: Self.target)
    #expect(cluster.redirectedURLs == [url(1)])
    #expect(cluster.scheduler.transferCount == 0)
    cluster.advance(by: .seconds(5))
    #expect(cluster.redirectedURLs.isEmpty)
  }

  @Test func `a transfer that waits keeps its host from starting more, and no other`() {
    let cluster = ClusterModel.started(transfers: 8, perHost: 1)
    cluster.view(url(1, host: Self.target))
    cluster.answerLookups()
    cluster.submit([url(2, host: "first"), url(3, host: "first"), url(4, host: "second")])
    cluster.answerLookups()
    cluster.redirect(url(2, host: "first"), to: Self.target)
    #expect(cluster.redirectedURLs == [url(2, host: "first")])
    #expect(cluster.scheduler.transferCount == 2)
    #expect(!cluster.fetching.contains(url(3, host: "first")))
    cluster.finish(url(1, host: Self.target))
    #expect(cluster.redirectedURLs.isEmpty)
    #expect(cluster.fetching.contains(url(3, host: "first")))
  }

  @Test func `two hosts that redirect to each other do not wait for ever`() {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.view(url(1, host: "first"))
    cluster.view(url(2, host: "second"))
    cluster.answerLookups()
    cluster.redirect(url(1, host: "first"), to: "second")
    cluster.redirect(url(2, host: "second"), to: "first")
    #expect(cluster.redirectedURLs.isEmpty)
    #expect(cluster.scheduler.transferCount == 2)
  }

  @Test func `a transfer that waits for too long has failed with a timeout`() {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.view(url(1, host: Self.target))
    let viewer = cluster.view(url(2))
    cluster.answerLookups()
    cluster.redirect(url(2), to: Self.target)
    cluster.advance(by: cluster.scheduler.limits.transferTimeout)
    cluster.finish(url(2), .cancelled)
    #expect(cluster.answers[viewer]?.failureCode == .timeout)
  }

  @Test func `a viewer that leaves ends a transfer that waits`() {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.view(url(1, host: Self.target))
    let viewer = cluster.view(url(2))
    cluster.answerLookups()
    cluster.redirect(url(2), to: Self.target)
    cluster.leave(viewer)
    cluster.finish(url(2), .cancelled)
    cluster.finishEverything()
    #expect(cluster.scheduler.isIdle)
    #expect(cluster.scheduler.transferQueue.hosts.isEmpty)
  }

  @Test func `a transfer whose worker dies while it waits begins again`() throws {
    let cluster = ClusterModel.started(perHost: 1)
    let viewer = cluster.view(url(2))
    cluster.view(url(1, host: Self.target))
    cluster.answerLookups()
    cluster.redirect(url(2), to: Self.target)
    cluster.exit(try #require(cluster.onlyWorker), .killed("SIGKILL"))
    cluster.endBackoffs()
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.scheduler.isIdle)
  }

  /// One URL after the other is redirected to a host that fails.
  private func failInTurn(
    _ cluster: ClusterModel, _ numbers: ClosedRange<Int>, pause: Duration = .seconds(1)
  ) throws {
    for url in spreadURLs(numbers) {
      cluster.view(url)
      cluster.answerLookups()
      cluster.redirect(url, to: Self.target)
      let (worker, fetch) = try #require(cluster.fetch(of: url))
      cluster.finish(fetch, of: worker, .failure(.timeout), wasRedirected: true)
      cluster.advance(by: pause)
    }
  }

  @Test func `failures of a redirect target are in a row also while nothing waits for it`() throws {
    let cluster = ClusterModel.started()
    try failInTurn(cluster, 1...HostHealth.failureMaximum)
    #expect(cluster.scheduler.transferQueue.hosts[Self.target]?.health.isTripped == true)
    cluster.view(url(99))
    cluster.answerLookups()
    cluster.redirect(url(99), to: Self.target)
    #expect(cluster.redirectedURLs == [url(99)])
  }

  @Test func `failures with long pauses between them are not in a row`() throws {
    let cluster = ClusterModel.started()
    try failInTurn(cluster, 1...HostHealth.failureMaximum, pause: HostHealth.failureMemory)
    #expect(cluster.scheduler.transferQueue.hosts.isEmpty)
  }

  @Test func `only so many hosts are remembered for their failures`() throws {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.areInvariantsChecked = false
    let count = HostIndex.rememberedMaximum + 10
    cluster.submit(count: count) { url($0, host: "dead\($0)") }
    cluster.answerLookups()
    while let url = cluster.fetching.first {
      cluster.finish(url, .failure(.connectFailure))
      cluster.answerLookups()
    }
    let hosts = cluster.scheduler.transferQueue.hosts
    #expect(hosts.count == HostIndex.rememberedMaximum)
    #expect(hosts["dead0"] == nil)
    #expect(hosts["dead\(count - 1)"] != nil)
  }

  @Test func `a failure behind a redirect counts for the host that was asked`() throws {
    let cluster = ClusterModel.started(perHost: 64)
    let urls = spreadURLs(1...HostHealth.failureMaximum)
    let job = cluster.submit(urls)
    cluster.answerLookups()
    for url in urls { cluster.redirect(url, to: Self.target) }
    for url in urls {
      let (worker, fetch) = try #require(cluster.fetch(of: url))
      cluster.finish(fetch, of: worker, .failure(.timeout), wasRedirected: true)
    }
    #expect(cluster.counts(job)?.failed == urls.count)
    #expect(cluster.scheduler.transferQueue.hosts[Self.target]?.health.isTripped == true)
    #expect(
      cluster.scheduler.transferQueue.hosts.allSatisfy {
        $0.key == Self.target || !$0.value.health.isTripped
      })
  }
}
