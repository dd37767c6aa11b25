import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Pictures that are not stored: the store has no room, or the request does not want them stored.
@Suite struct UncachedTests {
  // MARK: - The store has no room

  @Test(arguments: [true, false])
  func `lines fail and viewers are served, in any order`(isLineFirst: Bool) {
    let cluster = ClusterModel.started()
    var viewers: [ViewerID] = []
    if !isLineFirst { viewers.append(cluster.view(url(1))) }
    let job = cluster.submit([url(1), url(1)])
    viewers.append(cluster.view(url(1)))
    cluster.answerLookups()
    // After the fetch was assigned.
    viewers.append(cluster.view(url(1)))
    cluster.refuse(url(1))
    #expect(cluster.fetchStarts == [url(1)])
    #expect(viewers.allSatisfy { cluster.deliveries[$0] == .refused })
    #expect(
      viewers.map { cluster.answers[$0] }
        == [isLineFirst ? .sharedSample : .fetchedSample]
        + viewers.dropFirst().map { _ in .sharedSample })
    #expect(cluster.counts(job)?.bytesFetched == (isLineFirst ? 50_000 : 0))
    #expect(cluster.counts(job)?.failed == 2)
    #expect(cluster.counts(job)?.retryable == 2)
    #expect(cluster.outcome(of: 0, job)?.failureCode == .storeFull)
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `a line that alone waits for a refused thumbnail fails`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit([url(1)])
    cluster.answerLookups()
    cluster.refuse(url(1))
    #expect(cluster.counts(job)?.failed == 1)
    #expect(cluster.deliveries.isEmpty)
    #expect(cluster.openFiles.isEmpty)
  }

  @Test func `what comes for a lease that has ended is released and changes nothing`() throws {
    let cluster = ClusterModel.started()
    cluster.leave(cluster.view(url(1)))
    let viewer = cluster.view(url(1))
    cluster.answerLookups()
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.finish(url(1))
    let result = UncachedResult(
      lease: fetch.lease, made: .refused, bytesFetched: 1, isStoreDegraded: true)
    cluster.handle(.workerMadeUncached(worker, result, MemoryFileID(rawValue: 77)))
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.openFiles.isEmpty)
    #expect(cluster.scheduler.storeError == nil)
  }

  @Test func `a viewer that has left is not served, and its picture counts as late`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit([url(1)])
    let viewer = cluster.view(url(1))
    cluster.answerLookups()
    cluster.leave(viewer)
    cluster.refuse(url(1))
    #expect(cluster.deliveries.isEmpty)
    #expect(cluster.counts(job)?.failed == 1)
    #expect(cluster.scheduler.discardedLateCount == 1)
  }

  // MARK: - What people are told of it

  @Test
  func
    `a store error is reported once, with its last reason, and ends with the first that is stored`()
    throws
  {
    let cluster = ClusterModel.started()
    let began = cluster.now.wall
    cluster.submit([url(1)])
    for number in 2...4 { cluster.view(url(number)) }
    cluster.answerLookups()
    cluster.refuse(url(1))
    cluster.advance(by: .seconds(180))
    cluster.refuse(url(2))
    cluster.refuse(url(3))
    #expect(
      cluster.scheduler.storeError
        == StoreErrorStatus(reason: "no room", since: began, servedCount: 2))
    #expect(cluster.storeErrors == ["began"])
    cluster.finish(url(4))
    #expect(cluster.scheduler.storeError == nil)
    #expect(cluster.storeErrors == ["began", "ended 2"])
  }

  @Test func `hits and failures of origins say nothing of the store's room`() {
    let cluster = ClusterModel.started()
    cluster.prestore([url(2)])
    cluster.view(url(1))
    cluster.view(url(3))
    cluster.answerLookups()
    cluster.refuse(url(1))
    cluster.view(url(2))
    cluster.answerLookups()
    cluster.finish(url(3), .failure(.timeout))
    #expect(cluster.scheduler.storeError != nil)
  }

  @Test func `a picture that is too large for the store is no error of the store`() throws {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1))
    cluster.answerLookups()
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.makeUncached(fetch, of: worker)
    #expect(cluster.deliveries[viewer] == .refused)
    #expect(cluster.storeErrors.isEmpty)
  }

  // MARK: - The store is bypassed

  @Test func `what bypasses the store is fetched each time, whatever the store has`() {
    let cluster = ClusterModel.started()
    cluster.prestore([url(1)])
    for _ in 0..<3 {
      let viewer = cluster.view(url(1), bypassesStore: true)
      cluster.finishEverything()
      #expect(cluster.deliveries[viewer] == .wanted)
      #expect(cluster.answers[viewer] == .fetchedSample)
    }
    #expect(cluster.lookupStarts.isEmpty)
    #expect(cluster.fetchStarts == [url(1), url(1), url(1)])
  }

  @Test func `two viewers that bypass the store at once share one fetch`() {
    let cluster = ClusterModel.started()
    let viewers = (0..<2).map { _ in cluster.view(url(1), bypassesStore: true) }
    cluster.finishEverything()
    #expect(viewers.map { cluster.answers[$0] } == [.fetchedSample, .sharedSample])
    #expect(viewers.allSatisfy { cluster.deliveries[$0] == .wanted })
    #expect(cluster.fetchStarts == [url(1)])
    #expect(!cluster.isStored(url(1)))
  }

  @Test func `beside one for the store, a transfer is shared but neither look-up nor result`() {
    let cluster = ClusterModel.started()
    let stored = cluster.view(url(1))
    cluster.answerLookups()
    let bypassing = cluster.view(url(1), bypassesStore: true)
    #expect(cluster.scheduler.work.count == 2)
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.attachedCount == 1)
    cluster.finishEverything()
    #expect(cluster.deliveries[stored] == nil)
    #expect(cluster.deliveries[bypassing] == .wanted)
    #expect(cluster.isStored(url(1)))
  }

  @Test(arguments: [false, true])
  func `what bypasses the store is fetched again after its worker's death, without a look-up`(
    isIn: Bool
  ) {
    let cluster = ClusterModel.started()
    cluster.prestore([url(1)])
    let viewer = cluster.view(url(1), bypassesStore: true)
    if isIn { cluster.transferred(url(1)) }
    for worker in cluster.workers.keys { cluster.exit(worker, .killed("SIGKILL")) }
    cluster.advance(by: .seconds(1))
    cluster.finishEverything()
    #expect(cluster.deliveries[viewer] == .wanted)
    #expect(cluster.lookupStarts.isEmpty)
    #expect(cluster.fetchStarts == [url(1), url(1)])
  }

  @Test func `what bypasses the store is fetched after its viewer's delay`() {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1), delay: .milliseconds(500), bypassesStore: true)
    #expect(cluster.fetchStarts.isEmpty)
    cluster.advance(by: .milliseconds(500))
    cluster.finishEverything()
    #expect(cluster.deliveries[viewer] == .wanted)
  }
}
