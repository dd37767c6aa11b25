import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Transfers whose redirects wait for slots.
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
    #expect(cluster.isIdle)
  }

  @Test func `a redirected transfer takes a token of the host it leads to`() {
    let (cluster, _) = cluster(hosts: 3, perHost: 8, ratePerMinute: 60)
    #expect(cluster.redirectedURLs.count == 2)
    cluster.advance(by: .seconds(1))
    #expect(cluster.redirectedURLs.count == 1)
  }

  @Test func `a redirect within a host takes a token of it, and its slot for as long`() throws {
    let cluster = ClusterModel.started(perHost: 1, ratePerMinute: 60)
    for number in 1...2 { cluster.view(url(number, host: "first")) }
    cluster.answerLookups()
    let redirected = try #require(cluster.fetching.first)
    cluster.redirect(redirected, to: "first")
    #expect(cluster.redirectedURLs == [redirected])
    #expect(cluster.fetching == [redirected])
    cluster.advance(by: .seconds(1))
    #expect(cluster.redirectedURLs.isEmpty)
    #expect(cluster.fetching == [redirected])
    #expect(cluster.scheduler.transferCount == 1)
  }

  @Test func `a redirected transfer waits until the host's Retry-After is over`() throws {
    let cluster = ClusterModel.started()
    cluster.answeringLookups { $0.view(url(1)) }
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
    cluster.answeringLookups { $0.view(url(1, host: Self.target)) }
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
    cluster.answeringLookups { $0.view(url(2, host: "second")) }
    cluster.redirect(url(1, host: "first"), to: "second")
    cluster.redirect(url(2, host: "second"), to: "first")
    #expect(cluster.redirectedURLs.isEmpty)
    #expect(cluster.scheduler.transferCount == 2)
  }

  @Test func `a transfer that waits for too long has failed with a timeout`() {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.view(url(1, host: Self.target))
    let viewer = cluster.answeringLookups { $0.view(url(2)) }
    cluster.redirect(url(2), to: Self.target)
    cluster.advance(by: cluster.scheduler.limits.transferTimeout)
    cluster.finish(url(2), .cancelled)
    #expect(cluster.answers[viewer]?.failureCode == .timeout)
  }

  @Test func `a viewer that leaves ends a transfer that waits`() {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.view(url(1, host: Self.target))
    let viewer = cluster.answeringLookups { $0.view(url(2)) }
    cluster.redirect(url(2), to: Self.target)
    cluster.leave(viewer)
    cluster.finish(url(2), .cancelled)
    #expect(cluster.finished().isIdle)
    #expect(cluster.scheduler.fetches.queue.hosts.isEmpty)
  }

  @Test func `a transfer whose worker dies while it waits begins again`() throws {
    let cluster = ClusterModel.started(perHost: 1)
    let viewer = cluster.view(url(2))
    cluster.answeringLookups { $0.view(url(1, host: Self.target)) }
    cluster.redirect(url(2), to: Self.target)
    cluster.exit(try #require(cluster.onlyWorker), .killed("SIGKILL"))
    cluster.endBackoffs()
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
    #expect(cluster.isIdle)
  }

  /// One URL after the other is redirected to a host that fails.
  private func failInTurn(
    _ cluster: ClusterModel, _ numbers: ClosedRange<Int>, pause: Duration = .seconds(1)
  ) throws {
    for url in spreadURLs(numbers) {
      cluster.answeringLookups { $0.view(url) }
      cluster.redirect(url, to: Self.target)
      let (worker, fetch) = try #require(cluster.fetch(of: url))
      cluster.finish(fetch, of: worker, .failure(.timeout), wasRedirected: true)
      cluster.advance(by: pause)
    }
  }

  @Test func `failures of a redirect target are in a row also while nothing waits for it`() throws {
    let cluster = ClusterModel.started()
    try failInTurn(cluster, 1...HostHealth.failureMaximum)
    #expect(cluster.scheduler.fetches.queue.hosts[Self.target]?.health.isTripped == true)
    cluster.answeringLookups { $0.view(url(99)) }
    cluster.redirect(url(99), to: Self.target)
    #expect(cluster.redirectedURLs == [url(99)])
  }

  @Test func `failures with long pauses between them are not in a row`() throws {
    let cluster = ClusterModel.started()
    try failInTurn(cluster, 1...HostHealth.failureMaximum, pause: HostHealth.failureMemory)
    #expect(cluster.scheduler.fetches.queue.hosts.isEmpty)
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
    let hosts = cluster.scheduler.fetches.queue.hosts
    #expect(hosts.count == HostIndex.rememberedMaximum)
    #expect(hosts["dead0"] == nil)
    #expect(hosts["dead\(count - 1)"] != nil)
  }

  @Test func `a failure behind a redirect counts for the host that was asked`() throws {
    let cluster = ClusterModel.started(perHost: 64)
    let urls = spreadURLs(1...HostHealth.failureMaximum)
    let job = cluster.answeringLookups { $0.submit(urls) }
    for url in urls { cluster.redirect(url, to: Self.target) }
    for url in urls {
      let (worker, fetch) = try #require(cluster.fetch(of: url))
      cluster.finish(fetch, of: worker, .failure(.timeout), wasRedirected: true)
    }
    #expect(cluster.counts(job)?.failed == urls.count)
    #expect(cluster.scheduler.fetches.queue.hosts[Self.target]?.health.isTripped == true)
    #expect(
      cluster.scheduler.fetches.queue.hosts.allSatisfy {
        $0.key == Self.target || !$0.value.health.isTripped
      })
  }
}

/// Transfers to which next to nothing comes, for as long as a transfer may take.
@Suite struct SlowTransferTests {
  private static let credits = Credits(lookups: 1_024, leases: 2_048, decodeQueueTarget: 8)

  private let cluster = ClusterModel.started(transfers: 64, perHost: 8, credits: credits)

  init() {
    // With so many viewers, checking all of the state after each event takes minutes.
    cluster.areInvariantsChecked = false
  }

  /// Each new transfer turns slow, until no other begins.
  private func slowDown() {
    var known: Set<String> = []
    while true {
      let new = cluster.fetching.filter { !known.contains($0) && $0.contains("slow") }
      guard !new.isEmpty else { return }
      known.formUnion(new)
      for url in new where cluster.fetch(of: url) != nil { cluster.turn(url, slow: true) }
    }
  }

  /// A viewer for each of so many pictures, eight a host.
  private func viewSlowly(_ numbers: Range<Int>, host: (Int) -> String) {
    for number in numbers { cluster.view(url(number, host: host(number / 8))) }
    cluster.answerLookups()
  }

  private func confirmCancelled() {
    for worker in cluster.workers.values {
      for fetch in worker.fetches where worker.cancelled.contains(fetch.lease) {
        cluster.finish(fetch, of: worker.id, .cancelled)
      }
    }
  }

  @Test(arguments: [64, 144, 400], [true, false])
  func `a new picture of another host begins beside slow ones, which others replace at once`(
    count: Int, isOneGroup: Bool
  ) {
    let host = { (number: Int) in isOneGroup ? "h\(number).slow.org" : "slow\(number).org" }
    viewSlowly(0..<count, host: host)
    slowDown()
    for round in 1...4 {
      // As many again, before what has come to its end is known.
      viewSlowly(count * round..<count * round + 8, host: host)
      let picture = url(round, host: "other\(round).com")
      cluster.answeringLookups { $0.view(picture) }
      #expect(cluster.fetching.contains(picture), "in round \(round)")
      cluster.transferred(picture)
      cluster.finish(picture)
      slowDown()
      confirmCancelled()
    }
    let queue = cluster.scheduler.fetches.queue
    #expect(queue.asideCount <= 256 && queue.underWay <= 64 + 256)
  }

  @Test func `the group with the most slow transfers loses its oldest one, and waits itself`() {
    viewSlowly(0..<640) { "h\($0).slow.org" }
    slowDown()
    #expect(cluster.cancelledLeases.isEmpty && cluster.fetching.count == 312)
    viewSlowly(640..<648) { _ in "slow.net" }
    slowDown()
    #expect(cluster.cancelledLeases.isEmpty, "an eighth of the slots was reserved")
    viewSlowly(648..<656) { _ in "slow.com" }
    #expect(cluster.fetching.count { $0.contains("slow.com") } == 8)
    #expect(cluster.cancelledLeases.count == 8)
    confirmCancelled()
    let failures = cluster.answers.values.compactMap { outcome -> Failure? in
      if case .failed(let failure, _) = outcome { failure } else { nil }
    }
    #expect(failures.count == 8)
    #expect(failures.allSatisfy { $0.code == .timeout && $0.isRetryable })
    viewSlowly(656..<664) { _ in "h99.slow.org" }
    #expect(!cluster.fetching.contains { $0.contains("h99") })
  }

  @Test func `a list has no more transfers than slots, but its slow ones make room for viewers`() {
    cluster.areInvariantsChecked = true
    cluster.answeringLookups { $0.submit((1...100).map { url($0, host: "slow\($0)") }) }
    slowDown()
    #expect(cluster.fetching.count == 56, "an eighth is reserved")
    for number in 1...20 { cluster.view(url(number, host: "other\(number)")) }
    cluster.answerLookups()
    #expect(cluster.fetching.count == 76)
    #expect(cluster.scheduler.fetches.queue.asideCount == 12)
  }

  @Test func `lists of prompt hosts go on beside slow viewers`() {
    cluster.answeringLookups { $0.submit((1...30).map { url($0, host: "fast") }) }
    cluster.transferred(url(1, host: "fast"))
    viewSlowly(0..<720) { "h\($0).slow.org" }
    slowDown()
    for number in 2...20 {
      let picture = url(number, host: "fast")
      #expect(cluster.fetching.contains(picture))
      cluster.transferred(picture)
    }
  }

  @Test func `a transfer that is slow no more has a slot again`() {
    let cluster = ClusterModel.started(transfers: 2)
    cluster.answeringLookups { $0.view(url(1, host: "slow")) }
    cluster.turn(url(1, host: "slow"), slow: true)
    #expect(cluster.scheduler.fetches.queue.asideCount == 1)
    cluster.turn(url(1, host: "slow"), slow: false)
    #expect(cluster.scheduler.fetches.queue.asideCount == 0)
    cluster.answeringLookups { $0.submit(spreadURLs(1...5)) }
    #expect(cluster.fetching.count == 2)
    cluster.transferred(url(1, host: "slow"))
    #expect(cluster.scheduler.transferCount == 2)
  }
}
