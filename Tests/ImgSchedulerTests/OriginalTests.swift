import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// What is kept, and thumbnails that are made from originals.
@Suite struct OriginalTests {
  @Test func `a second size of a kept original needs no transfer and no slot`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.view(url(1), keep: .all)
    cluster.finishEverything()
    cluster.view(url(2))
    cluster.answerLookups()
    let viewer = cluster.view(url(1), variant: .small)
    cluster.answerLookups()
    #expect(cluster.scheduler.transferCount == 1)
    cluster.finish(url(1), variant: .small)
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.isStored(url(1), .small))
    #expect(cluster.fetchStarts == [url(1), url(2)])
    cluster.finishEverything()
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `an original that is gone when its turn comes is fetched`() {
    let cluster = ClusterModel.started()
    cluster.store.originals = [url(1): Retention()]
    let viewer = cluster.view(url(1))
    cluster.isMailHeld = true
    cluster.answerLookups()
    cluster.store.originals = [:]
    cluster.isMailHeld = false
    cluster.handle(cluster.mail.removeFirst())
    #expect(cluster.fetching == [url(1)])
    #expect(cluster.fetchStarts == [url(1)])
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
  }

  @Test(arguments: [(Keep.none, true), (.thumbnail, true), (.original, false), (.all, false)])
  func `a thumbnail in the store is a hit unless the original is wanted too`(
    keep: Keep, isHit: Bool
  ) {
    let cluster = ClusterModel.started()
    cluster.prestore([url(1)])
    let job = cluster.submit([url(1)], keep: keep)
    cluster.finishEverything()
    #expect(cluster.fetchStarts.isEmpty == isHit)
    #expect(cluster.counts(job)?.done == 1)
    #expect((cluster.store.originals[url(1)] != nil) == keep.includesOriginal)
  }

  @Test func `requests that keep different things share a transfer`() {
    let cluster = ClusterModel.started()
    let jobs = Keep.allCases.filter { !$0.isFacts }.map { cluster.submit([url(1)], keep: $0) }
    cluster.finishEverything()
    #expect(cluster.fetchStarts == [url(1)])
    #expect(jobs.allSatisfy { cluster.counts($0)?.done == 1 })
    #expect(cluster.isStored(url(1)))
    #expect(Array(cluster.store.originals.keys) == [url(1)])
  }

  @Test func `facts are fetched apart from the whole picture, and once for equal requests`() {
    let cluster = ClusterModel.started()
    let jobs = [Keep.facts, .facts, .allFacts, .pixelFacts, .thumbnail].map {
      cluster.submit([url(1)], keep: $0)
    }
    cluster.finishEverything()
    #expect(cluster.fetchStarts == [url(1), url(1), url(1), url(1)])
    #expect(jobs.allSatisfy { cluster.counts($0)?.done == 1 })
  }

  @Test func `facts are read from the original in the store`() {
    let cluster = ClusterModel.started()
    cluster.store.originals = [url(1): Retention()]
    let job = cluster.submit([url(1)], keep: .facts)
    cluster.finishEverything()
    #expect(cluster.fetchStarts.isEmpty)
    #expect(cluster.counts(job)?.done == 1)
  }

  @Test func `an original whose decode kills workers is given up`() {
    let cluster = ClusterModel.started()
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
    cluster.submit([url(1), url(2), url(3)])
    cluster.answerLookups()
    #expect(cluster.fetching == [url(1)])
    let viewer = cluster.view(url(4))
    cluster.answerLookups()
    cluster.finish(url(1))
    #expect(cluster.fetching == [url(4)])
    cluster.finish(url(4))
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.fetching == [url(2)])
    cluster.finishEverything()
    #expect(cluster.fetchStarts.isEmpty)
  }
}
