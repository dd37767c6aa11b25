import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Who is next.
@Suite struct OrderTests {
  /// Places for two; a batch of 1…5 of which 1 and 2 run.
  private func busyCluster() -> ClusterModel {
    let cluster = ClusterModel.started(transfers: 2)
    cluster.submit(spreadURLs(1...5))
    cluster.answerLookups()
    return cluster
  }

  @Test func `a URL whose viewer leaves falls back into the batch`() {
    let cluster = busyCluster()
    let viewer = cluster.view(url(5, host: "host5"))
    cluster.view(url(4, host: "host4"))
    cluster.leave(viewer)
    #expect(cluster.startsUntilIdle() == [4, 3, 5])
  }

  @Test func `a viewer's look-up goes before a list's`() {
    let cluster = ClusterModel.started(
      credits: Credits(lookups: 1, leases: 8, decodeQueueTarget: 8))
    cluster.submit(spreadURLs(1...3))
    cluster.view(url(99))
    for worker in cluster.workers.keys { cluster.answerLookup(of: worker) }
    #expect(
      cluster.workers.values.flatMap(\.lookups).flatMap(\.items).map(\.url) == [url(99)])
  }

  @Test func `the newest viewer is looked up first`() {
    let cluster = ClusterModel()
    for number in 1...3 { cluster.view(url(number)) }
    cluster.view(url(1))
    cluster.handle(.began)
    #expect(cluster.lookupStarts == [url(1), url(3), url(2)])
  }

  @Test func `two jobs share in turn`() {
    let cluster = ClusterModel(transfers: 1)
    cluster.submit(spreadURLs(1...4))
    cluster.submit(spreadURLs(11...12))
    cluster.handle(.began)
    cluster.finishEverything()
    #expect(cluster.fetchStarts == spreadURLs([1, 11, 2, 12, 3, 4]))
  }

  @Test func `a higher priority goes first`() {
    let cluster = ClusterModel(transfers: 1)
    cluster.submit(spreadURLs(1...2), priority: -1)
    cluster.submit(spreadURLs(11...12))
    cluster.submit(spreadURLs(21...22), priority: 2)
    cluster.handle(.began)
    cluster.finishEverything()
    #expect(cluster.lookupStarts == spreadURLs([21, 22, 11, 12, 1, 2]))
    #expect(cluster.fetchStarts == spreadURLs([21, 22, 11, 12, 1, 2]))
  }

  @Test func `a less urgent job that was looked up first is transferred later`() {
    let cluster = busyCluster()
    cluster.submit(spreadURLs(11...12), priority: 1)
    cluster.answerLookups()
    #expect(cluster.startsUntilIdle() == [11, 12, 3, 4, 5])
  }

  @Test func `a URL that a more urgent job wants too is as urgent`() {
    let cluster = busyCluster()
    cluster.submit([url(5, host: "host5")], priority: 1)
    cluster.answerLookups()
    #expect(cluster.startsUntilIdle() == [5, 3, 4])
  }
}
