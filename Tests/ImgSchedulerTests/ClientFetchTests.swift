import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Pictures that clients fetch by themselves.
@Suite struct ClientFetchTests {
  private let cluster = ClusterModel.started()

  /// A viewer whose client can fetch.
  private func offer(
    _ url: String, variant: Variant = .standard, fetch: FetchOptions = .standard
  ) -> ViewerID {
    cluster.answeringLookups {
      $0.view(url, variant: variant, fetch: fetch, offersFetch: true)
    }
  }

  @Test func `one client is asked for a picture, and what it brings is for all that wait`() {
    let first = offer(url(1))
    let second = offer(url(1))
    let small = offer(url(1), variant: .small)
    let other = cluster.answeringLookups { $0.view(url(1)) }
    let job = cluster.answeringLookups { $0.submit([url(1)]) }
    #expect(cluster.askedViewers == [first])
    cluster.bringFetched(for: first)
    #expect(cluster.finished().fetchStarts.isEmpty)
    for viewer in [first, second, small, other] {
      #expect(cluster.answers[viewer]?.failureCode == nil && cluster.answers[viewer] != nil)
    }
    #expect(cluster.counts(job)?.done == 1)
    #expect(cluster.decodeStarts.count == 2, "one for each variant")
    #expect(cluster.openFiles.isEmpty && cluster.scheduler.clientFetches.isEmpty)
  }

  @Test func `no client is asked for what is stored, or fetched by a worker`() {
    cluster.prestore([url(1)])
    #expect(cluster.answers[offer(url(1))] == .cachedSample)
    _ = cluster.answeringLookups { $0.view(url(2)) }
    _ = offer(url(2))
    #expect(cluster.askedViewers.isEmpty)
    #expect(cluster.fetchStarts == [url(2)])
  }

  @Test func `a client that fails ends its own request, and the next one is asked`() {
    let first = offer(url(1))
    let second = offer(url(1))
    cluster.failToFetch(for: first)
    #expect(cluster.answers[first]?.failureCode == .connectFailure)
    #expect(cluster.askedViewers == [second])
    cluster.bringFetched(for: second)
    #expect(cluster.finished().answers[second]?.failureCode == nil)
    #expect(cluster.fetchStarts.isEmpty)
  }

  @Test(arguments: [true, false])
  func `a worker fetches for the others if the client leaves or takes too long`(isLeft: Bool) {
    let first = offer(url(1))
    let other = cluster.answeringLookups { $0.view(url(1)) }
    if isLeft {
      cluster.leave(first)
    } else {
      cluster.advance(by: cluster.scheduler.limits.transferTimeout)
      #expect(cluster.answers[first]?.failureCode == .timeout)
    }
    #expect(cluster.fetchStarts == [url(1)])
    cluster.bringFetched(for: first)
    #expect(cluster.openFiles.isEmpty, "it is too late")
    #expect(cluster.finished().answers[other] == .fetchedSample)
  }

  @Test func `a picture that is too long is refused`() {
    let viewer = offer(url(1))
    cluster.bringFetched(for: viewer, byteCount: .max)
    #expect(cluster.answers[viewer]?.failureCode == .tooLarge)
    #expect(cluster.openFiles.isEmpty && cluster.isIdle)
  }

  @Test func `a request that respects robots or limits redirects is served by a worker`() throws {
    let first = offer(url(1))
    let strict = FetchOptions(respectsOptOut: true)
    let job = cluster.answeringLookups { $0.submit([url(1)], fetch: strict) }
    #expect(cluster.fetchStarts == [url(1)])
    cluster.bringFetched(for: first)
    #expect(cluster.finished().counts(job)?.done == 1)
    #expect(cluster.answers[first]?.failureCode == nil)
    _ = offer(url(2), fetch: strict)
    #expect(cluster.askedViewers.isEmpty)
  }

  @Test func `a host that is held up for workers is none for a client`() {
    let narrow = ClusterModel.started(transfers: 1)
    narrow.answeringLookups { $0.submit([url(1)]) }
    let viewer = narrow.answeringLookups { $0.view(url(2), offersFetch: true) }
    #expect(narrow.askedViewers == [viewer])
  }
}
