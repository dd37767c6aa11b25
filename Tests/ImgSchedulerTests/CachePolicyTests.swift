import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// What a policy makes of what look-ups find.
@Suite(.timeLimit(.minutes(20))) struct CachePolicyTests {
  private let cluster = ClusterModel.started()

  @Test func `what is not cached fails where nothing is to be fetched, and is not retried`() {
    cluster.prestore([url(1)])
    let hit = cluster.view(url(1), fetch: FetchOptions(cachePolicy: .cacheOnly))
    let miss = cluster.view(url(2), fetch: FetchOptions(cachePolicy: .cacheOnly))
    let job = cluster.submit([url(1), url(3)], fetch: FetchOptions(cachePolicy: .cacheOnly))
    #expect(cluster.finished().answers[hit] == .cachedSample)
    #expect(cluster.answers[miss]?.failureCode == .notCached)
    #expect(cluster.outcome(of: 0, job) == .cachedSample)
    #expect(cluster.outcome(of: 1, job)?.failureCode == .notCached)
    #expect(cluster.counts(job)?.retryable == 0)
    #expect(cluster.fetchStarts.isEmpty)
    #expect(cluster.scheduler.fetches.sources.isEmpty)
  }

  @Test func `an evicted original is not cached, nor is a picture that another request fetches`() {
    cluster.store.originals = [url(1): Retention()]
    let viewer = cluster.view(url(1), fetch: FetchOptions(cachePolicy: .cacheOnly))
    cluster.isMailHeld = true
    cluster.answerLookups()
    cluster.store.originals = [:]
    cluster.isMailHeld = false
    cluster.handle(cluster.mail.removeFirst())
    #expect(cluster.answers[viewer]?.failureCode == .notCached)
    cluster.answeringLookups { $0.view(url(2)) }
    let other = cluster.view(url(2), fetch: FetchOptions(cachePolicy: .cacheOnly))
    cluster.answerLookups()
    #expect(cluster.answers[other]?.failureCode == .notCached)
  }

  @Test func `reload fetches a stored picture again, once for all requests`() {
    cluster.prestore([url(1)])
    let viewers = [
      cluster.view(url(1), fetch: FetchOptions(cachePolicy: .reload)),
      cluster.view(url(1), fetch: FetchOptions(cachePolicy: .reload)),
      cluster.view(url(1)),
    ]
    cluster.finishEverything()
    #expect(viewers.map { cluster.answers[$0] } == [.fetchedSample, .sharedSample, .cachedSample])
    #expect(cluster.fetchStarts == [url(1)])
  }

  @Test func `a reload whose worker dies is fetched, whatever the store has`() {
    cluster.prestore([url(1)])
    let viewer = cluster.view(url(1), fetch: FetchOptions(cachePolicy: .reload))
    cluster.answerLookups()
    cluster.crash(fetching: url(1))
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
    #expect(cluster.fetchStarts == [url(1), url(1)])
  }

  @Test func `after 304 an attached item with nothing stored is fetched`() {
    cluster.prestore([url(1)])
    cluster.store.stale[url(1)] = false
    let viewer = cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.answerLookups()
    let joining = cluster.view(
      url(1), variant: .small, fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.answerLookups()
    guard let (worker, fetch) = cluster.fetch(of: url(1)) else {
      Issue.record("nothing is fetched")
      return
    }
    #expect(cluster.fetchStarts == [url(1)])
    cluster.notModified(fetch.transfer, of: worker)
    #expect(cluster.answers[viewer] == .cachedSample)
    #expect(cluster.fetchStarts == [url(1), url(1)])
    #expect(cluster.finished().answers[joining] == .fetchedSample)
  }

  @Test func `a failure behind what was served counts for its host, and once`() {
    let busy = Failure(stage: .fetch, code: .httpStatus, httpStatus: 503, detail: "made to fail")
    cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.answeringLookups { $0.view(url(1), variant: .small) }
    guard let (worker, attached) = cluster.fetch(of: url(1), variant: .small),
      let (_, fetch) = cluster.fetch(of: url(1), variant: .standard)
    else {
      Issue.record("nothing is fetched")
      return
    }
    cluster.finish(fetch, of: worker, .cachedSample, retryAfter: 20, failureBehind: busy)
    cluster.finish(attached, of: worker, .failed(busy))
    let health = cluster.scheduler.fetches.queue.hosts["example.com"]?.health
    #expect(health?.failureCount == 1)
    cluster.answeringLookups { $0.view(url(2)) }
    #expect(cluster.fetchStarts == [url(1)])
    cluster.advance(by: .seconds(21))
    #expect(cluster.fetchStarts == [url(1), url(2)])
  }

  // MARK: - Stale if the origin fails

  private let byProtocol = FetchOptions(cachePolicy: .byProtocol)

  private func failure(status: Int) -> Outcome {
    .failed(Failure(stage: .fetch, code: .httpStatus, httpStatus: status, detail: "made to fail"))
  }

  /// Has the host fail until one more failure lets it be left alone.
  private func almostBreakHost(status: Int = 503) {
    cluster.changeLimits(perHost: 1)
    cluster.answeringLookups { $0.submit((1...HostHealth.failureMaximum).map { url($0) }) }
    for number in 1..<HostHealth.failureMaximum {
      cluster.finish(url(number), failure(status: status))
    }
  }

  private func breakHost(status: Int = 503) {
    cluster.finish(url(HostHealth.failureMaximum), failure(status: status))
  }

  private func storeStale(_ urls: [String]) {
    cluster.prestore(urls)
    for url in urls { cluster.store.stale[url] = false }
  }

  @Test func `items that wait for a host when its cooldown begins are served stale`() {
    storeStale([url(21), url(22)])
    almostBreakHost()
    let waiting = [url(21), url(22)].map { cluster.view($0, fetch: byProtocol) }
    let nothingStored = cluster.view(url(23), fetch: byProtocol)
    let other = cluster.view(url(21), fetch: FetchOptions(cachePolicy: .reload))
    cluster.answerLookups()
    #expect(cluster.answers[waiting[0]] == nil)
    breakHost()
    cluster.answerLookups()
    #expect(waiting.map { cluster.answers[$0] } == [.cachedSample, .cachedSample])
    #expect(cluster.answers[nothingStored] == nil)
    #expect(cluster.answers[other] == nil)
    #expect(cluster.fetchStarts.count == HostHealth.failureMaximum)
    cluster.advance(by: .seconds(5))
    #expect(cluster.finished().answers[nothingStored] == .fetchedSample)
    #expect(cluster.answers[other] == .fetchedSample)
  }

  @Test func `requests during a cooldown are served stale without a transfer`() {
    storeStale([url(21)])
    almostBreakHost()
    breakHost()
    let viewer = cluster.answeringLookups { $0.view(url(21), fetch: byProtocol) }
    #expect(cluster.answers[viewer] == .cachedSample)
    #expect(cluster.isIdle)
  }

  @Test func `after a cooldown one request probes the host, and the others do not wait for it`() {
    storeStale([url(21), url(22)])
    almostBreakHost()
    breakHost()
    cluster.advance(by: .seconds(5))
    let first = cluster.answeringLookups { $0.view(url(21), fetch: byProtocol) }
    #expect(cluster.fetching == [url(21)])
    let second = cluster.answeringLookups { $0.view(url(22), fetch: byProtocol) }
    #expect(cluster.answers[second] == .cachedSample)
    cluster.finish(url(21))
    #expect(cluster.answers[first] == .fetchedSample)
    let third = cluster.answeringLookups { $0.view(url(22), fetch: byProtocol) }
    #expect(cluster.answers[third] == nil)
    #expect(cluster.fetching == [url(22)])
  }

  @Test func `a host that asks for patience does not fail`() {
    storeStale([url(21)])
    almostBreakHost(status: 429)
    breakHost(status: 429)
    let viewer = cluster.answeringLookups { $0.view(url(21), fetch: byProtocol) }
    #expect(cluster.answers[viewer] == nil)
  }

  @Test func `what was tried before and is given out stale is from the cache`() {
    let cluster = ClusterModel.started(perHost: 1, attempts: 2)
    let viewer = cluster.answeringLookups { $0.view(url(21), fetch: byProtocol) }
    cluster.answeringLookups { $0.submit((1..<HostHealth.failureMaximum).map { url($0) }) }
    cluster.finish(url(21), failure(status: 503))
    for number in 1..<HostHealth.failureMaximum {
      if number == HostHealth.failureMaximum - 1 {
        cluster.prestore([url(21)])
        cluster.store.stale[url(21)] = false
        // The backoff is over: it waits for its second attempt.
        cluster.advance(by: .seconds(1))
      }
      cluster.finish(url(number), failure(status: 503))
    }
    cluster.answerLookups()
    #expect(cluster.answers[viewer] == .cachedSample)
  }

  // MARK: - Stale while revalidating

  private func staleHits(_ urls: [String]) {
    cluster.prestore(urls)
    for url in urls { cluster.store.stale[url] = true }
  }

  @Test func `a stale hit is answered at once and revalidated once`() {
    staleHits([url(1)])
    let viewers = (0..<3).map { _ in
      cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    }
    cluster.answerLookups()
    let late = cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.answerLookups()
    #expect((viewers + [late]).allSatisfy { cluster.answers[$0] == .cachedSample })
    #expect(cluster.fetchStarts == [url(1)])
    #expect(!cluster.isIdle)
    #expect(cluster.finished().isIdle)
    #expect(cluster.scheduler.work.isEmpty)
    // It is fresh now.
    cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    #expect(cluster.finished().fetchStarts == [url(1)])
  }

  @Test func `a revalidated picture is kept for as long as the request that got it asked`() {
    staleHits([url(1)])
    cluster.view(
      url(1), expiry: Expiry(.after(.seconds(1))),
      fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.answerLookups()
    #expect(cluster.fetch(of: url(1))?.fetch.retention == Retention(after: .seconds(1)))
  }

  @Test func `a revalidation comes after everything else, and fails in silence`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.answeringLookups { $0.view(url(9)) }
    cluster.prestore([url(1)])
    cluster.store.stale[url(1)] = true
    cluster.answeringLookups { $0.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol)) }
    cluster.submit([url(2)], priority: -2)
    #expect(cluster.startsUntilIdle() == [2, 1])
    cluster.store.stale[url(1)] = true
    cluster.answeringLookups { $0.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol)) }
    cluster.finish(url(1), .failure(.httpStatus))
    #expect(cluster.isIdle)
  }

  @Test func `a worker's death does not end it, and a drain does not wait for it`() {
    staleHits([url(1), url(2)])
    cluster.answeringLookups { $0.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol)) }
    cluster.crash(fetching: url(1))
    #expect(cluster.fetchStarts == [url(1), url(1)])
    cluster.handle(.drainRequested)
    cluster.finish(url(1))
    #expect(cluster.drainedCount == 1)
  }

  @Test func `only so many are under way at a time`() {
    let maximum = Scheduler.revalidationMaximum
    let urls = (0..<maximum + 10).map { url($0) }
    cluster.areInvariantsChecked = false
    staleHits(urls)
    for url in urls { cluster.view(url, fetch: FetchOptions(cachePolicy: .byProtocol)) }
    cluster.answerLookups()
    #expect(cluster.answers.count == urls.count)
    #expect(cluster.scheduler.work.revalidationCount == maximum)
    #expect(cluster.finished().fetchStarts.count == maximum)
  }
}

/// What is kept, and thumbnails that are made from originals.
@Suite struct OriginalTests {
  private let cluster = ClusterModel.started()

  @Test func `a second size of a kept original needs no transfer and no slot`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.view(url(1), keep: .all)
    cluster.finishEverything()
    cluster.answeringLookups { $0.view(url(2)) }
    let viewer = cluster.answeringLookups { $0.view(url(1), variant: .small) }
    #expect(cluster.scheduler.transferCount == 1)
    cluster.finish(url(1), variant: .small)
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.isStored(url(1), .small))
    #expect(cluster.fetchStarts == [url(1), url(2)])
    #expect(cluster.finished().isIdle)
  }

  @Test func `an original that is gone when its turn comes is fetched`() {
    cluster.store.originals = [url(1): Retention()]
    let viewer = cluster.view(url(1))
    cluster.isMailHeld = true
    cluster.answerLookups()
    cluster.store.originals = [:]
    cluster.isMailHeld = false
    cluster.handle(cluster.mail.removeFirst())
    #expect(cluster.fetching == [url(1)])
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test(arguments: [(Keep.none, true), (.thumbnail, true), (.original, false), (.all, false)])
  func `a stored thumbnail is a hit unless the original is wanted too`(keep: Keep, isHit: Bool) {
    cluster.prestore([url(1)])
    let job = cluster.submit([url(1)], keep: keep)
    #expect(cluster.finished().fetchStarts.isEmpty == isHit)
    #expect(cluster.counts(job)?.done == 1)
    #expect((cluster.store.originals[url(1)] != nil) == keep.includesOriginal)
  }

  @Test func `requests that keep different things share a transfer`() {
    let jobs = Keep.allCases.filter { !$0.isFacts }.map { cluster.submit([url(1)], keep: $0) }
    #expect(cluster.finished().fetchStarts == [url(1)])
    #expect(jobs.allSatisfy { cluster.counts($0)?.done == 1 })
    #expect(cluster.isStored(url(1)))
    #expect(Array(cluster.store.originals.keys) == [url(1)])
  }

  @Test func `facts are fetched apart from the whole picture, and once for equal requests`() {
    let jobs = [Keep.facts, .facts, .allFacts, .pixelFacts, .thumbnail].map {
      cluster.submit([url(1)], keep: $0)
    }
    #expect(cluster.finished().fetchStarts == [url(1), url(1), url(1), url(1)])
    #expect(jobs.allSatisfy { cluster.counts($0)?.done == 1 })
  }

  @Test func `facts are read from the original in the store`() {
    cluster.store.originals = [url(1): Retention()]
    let job = cluster.submit([url(1)], keep: .facts)
    #expect(cluster.finished().fetchStarts.isEmpty)
    #expect(cluster.counts(job)?.done == 1)
  }

  @Test func `an original whose decode kills workers is given up`() {
    cluster.store.originals = [url(1): Retention()]
    let viewer = cluster.view(url(1))
    for _ in 0..<Scheduler.lossMaximum {
      cluster.answerLookups()
      cluster.crash(fetching: url(1))
      cluster.advance(by: .seconds(5))
    }
    guard case .failed(let failure, _) = cluster.answers[viewer] else {
      Issue.record("\(String(describing: cluster.answers[viewer]))")
      return
    }
    #expect(failure.code == .internal)
    #expect(cluster.fetchStarts.isEmpty)
  }

  @Test func `originals wait for a decoder by urgency, viewers before lists`() {
    let cluster = ClusterModel.started(
      credits: Credits(lookups: 256, leases: 1, decodeQueueTarget: 8))
    for number in 1...4 { cluster.store.originals[url(number)] = Retention() }
    cluster.answeringLookups { $0.submit([url(1), url(2), url(3)]) }
    #expect(cluster.fetching == [url(1)])
    let viewer = cluster.answeringLookups { $0.view(url(4)) }
    cluster.finish(url(1))
    #expect(cluster.fetching == [url(4)])
    cluster.finish(url(4))
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.fetching == [url(2)])
    #expect(cluster.finished().fetchStarts.isEmpty)
  }
}
