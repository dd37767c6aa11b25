import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgCore

/// What a policy makes of what look-ups find.
@Suite(.timeLimit(.minutes(20))) struct CachePolicyTests {
  private let cluster = ClusterModel.started()

  @Test func `what is not cached fails where nothing is to be fetched, and is not retried`() {
    cluster.prestore([url(1)])
    let hit = cluster.view(url(1), fetch: FetchOptions(cachePolicy: .cacheOnly))
    let miss = cluster.view(url(2), fetch: FetchOptions(cachePolicy: .cacheOnly))
    let job = cluster.submit([url(1), url(3)], fetch: FetchOptions(cachePolicy: .cacheOnly))
    cluster.settle()
    #expect(cluster.answers[hit] == .cachedSample)
    #expect(cluster.answers[miss]?.failureCode == .notCached)
    #expect(cluster.outcome(of: 0, job) == .cachedSample)
    #expect(cluster.outcome(of: 1, job)?.failureCode == .notCached)
    #expect(cluster.counts(job)?.retryable == 0)
    #expect(cluster.fetchStarts.isEmpty)
    #expect(cluster.scheduler.sources.isEmpty)
  }

  @Test func `an original that is gone is not cached either, nor is what another fetches`() {
    cluster.store.originals = [url(1): Retention()]
    let viewer = cluster.view(url(1), fetch: FetchOptions(cachePolicy: .cacheOnly))
    cluster.isMailHeld = true
    cluster.answerLookups()
    cluster.store.originals = [:]
    cluster.isMailHeld = false
    cluster.handle(cluster.mail.removeFirst())
    #expect(cluster.answers[viewer]?.failureCode == .notCached)
    cluster.view(url(2))
    cluster.answerLookups()
    let other = cluster.view(url(2), fetch: FetchOptions(cachePolicy: .cacheOnly))
    cluster.answerLookups()
    #expect(cluster.answers[other]?.failureCode == .notCached)
  }

  @Test func `a picture that is there is fetched again by who reloads it, once for all`() {
    cluster.prestore([url(1)])
    let viewers = [
      cluster.view(url(1), fetch: FetchOptions(cachePolicy: .reload)),
      cluster.view(url(1), fetch: FetchOptions(cachePolicy: .reload)),
      cluster.view(url(1)),
    ]
    cluster.settle()
    #expect(viewers.map { cluster.answers[$0] } == [.fetchedSample, .sharedSample, .cachedSample])
    #expect(cluster.fetchStarts == [url(1)])
  }

  @Test func `a reload whose worker dies is fetched, whatever the store has`() {
    cluster.prestore([url(1)])
    let viewer = cluster.view(url(1), fetch: FetchOptions(cachePolicy: .reload))
    cluster.answerLookups()
    cluster.crash(decoding: url(1))
    cluster.settle()
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.fetchStarts == [url(1), url(1)])
  }

  @Test func `who rode on what has not changed and has nothing stored is fetched for`() {
    cluster.prestore([url(1)])
    cluster.store.stale[url(1)] = false
    let viewer = cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.answerLookups()
    let rider = cluster.view(url(1), variant: .small, fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.answerLookups()
    guard let (worker, fetch) = cluster.fetch(of: url(1)) else {
      Issue.record("nothing is fetched")
      return
    }
    #expect(cluster.fetchStarts == [url(1)])
    cluster.notModified(fetch.transfer, of: worker)
    #expect(cluster.answers[viewer] == .cachedSample)
    #expect(cluster.fetchStarts == [url(1), url(1)])
    cluster.settle()
    #expect(cluster.answers[rider] == .fetchedSample)
  }

  @Test func `a failure behind what was served counts for its host, and once`() {
    let busy = Failure(
      stage: .fetch, code: .httpStatus, httpStatus: 503, detail: "made to fail")
    cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.view(url(1), variant: .small)
    cluster.answerLookups()
    guard let (worker, rider) = cluster.fetch(of: url(1), variant: .small),
      let (_, fetch) = cluster.fetch(of: url(1), variant: .standard)
    else {
      Issue.record("nothing is fetched")
      return
    }
    cluster.finish(
      fetch, of: worker, .cachedSample, retryAfter: 20_000, failureBehind: busy)
    cluster.finish(rider, of: worker, .failed(busy))
    let health = cluster.scheduler.transferQueue.hosts["example.com"]?.health
    #expect(health?.failureCount == 1)
    cluster.view(url(2))
    cluster.answerLookups()
    #expect(cluster.fetchStarts == [url(1)])
    cluster.advance(by: .seconds(21))
    #expect(cluster.fetchStarts == [url(1), url(2)])
  }

  // MARK: - Stale while revalidating

  private func staleHits(_ urls: [String]) {
    cluster.prestore(urls)
    for url in urls { cluster.store.stale[url] = true }
  }

  @Test func `a stale hit is answered at once, and asked about once, for nobody`() {
    staleHits([url(1)])
    let viewers = (0..<3).map { _ in
      cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    }
    cluster.answerLookups()
    let late = cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.answerLookups()
    #expect((viewers + [late]).allSatisfy { cluster.answers[$0] == .cachedSample })
    #expect(cluster.fetchStarts == [url(1)])
    #expect(!cluster.scheduler.isIdle)
    cluster.settle()
    #expect(cluster.scheduler.isIdle)
    #expect(cluster.scheduler.items.isEmpty)
    // It is fresh now.
    cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.settle()
    #expect(cluster.fetchStarts == [url(1)])
  }

  @Test func `what is asked about for nobody is kept as long as who got it has asked`() {
    staleHits([url(1)])
    cluster.view(
      url(1), expiry: Expiry(.after(milliseconds: 1_000)),
      fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.answerLookups()
    #expect(cluster.fetch(of: url(1))?.fetch.retention == Retention(afterMilliseconds: 1_000))
  }

  @Test func `what nobody waits for comes after everything else, and fails in silence`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.view(url(9))
    cluster.answerLookups()
    cluster.prestore([url(1)])
    cluster.store.stale[url(1)] = true
    cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.answerLookups()
    cluster.submit([url(2)], priority: -2)
    #expect(cluster.startsUntilIdle() == [2, 1])
    cluster.store.stale[url(1)] = true
    cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.answerLookups()
    cluster.finish(url(1), .failure(.httpStatus))
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `a worker's death does not end it, and a drain does not wait for it`() {
    staleHits([url(1), url(2)])
    cluster.view(url(1), fetch: FetchOptions(cachePolicy: .byProtocol))
    cluster.answerLookups()
    cluster.crash(decoding: url(1))
    #expect(cluster.fetchStarts == [url(1), url(1)])
    cluster.handle(.drainRequested)
    cluster.finish(url(1))
    #expect(cluster.drainedCount == 1)
  }

  @Test func `only so many are under way at a time`() {
    let maximum = Scheduler.revalidationMaximum
    let urls = (0..<maximum + 10).map { url($0) }
    staleHits(urls)
    for url in urls { cluster.view(url, fetch: FetchOptions(cachePolicy: .byProtocol)) }
    cluster.answerLookups()
    #expect(cluster.answers.count == urls.count)
    #expect(cluster.scheduler.revalidationCount == maximum)
    cluster.settle()
    #expect(cluster.fetchStarts.count == maximum)
  }
}
