import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// How long what is fetched is kept, for one who waits and for several.
@Suite(.timeLimit(.minutes(20))) struct ExpiryTests {
  private let week = Limits().defaultExpiry

  private func seconds(_ count: Int64, isSliding: Bool = false) -> Expiry {
    Expiry(.after(.seconds(count)), isSliding: isSliding)
  }

  @Test func `a request without an expiry gets the default`() {
    let cluster = ClusterModel.started()
    cluster.view(url(1))
    #expect(cluster.finished().retention(url(1)) == Retention(after: .seconds(604_800)))
  }

  @Test func `a date stays what it is, however late a line is fetched`() {
    let cluster = ClusterModel.started(transfers: 1)
    let date = cluster.now.wall.advanced(by: .seconds(5))
    cluster.answeringLookups { $0.submit([url(1), url(2)], expiry: Expiry(.at(date))) }
    cluster.finish(url(1))
    cluster.advance(by: .seconds(10))
    cluster.finishEverything()
    for number in 1...2 { #expect(cluster.retention(url(number)) == Retention(until: date)) }
  }

  @Test func `a changed default is for what is stored from then on`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.answeringLookups { $0.submit([url(1), url(2), url(3)]) }
    cluster.finish(url(1))
    cluster.changeLimits(defaultExpiry: .seconds(3_600))
    cluster.finishEverything()
    cluster.view(url(1))
    #expect(cluster.finished().retention(url(1)) == Retention(after: .seconds(604_800)))
    #expect(cluster.retention(url(2)) == Retention(after: .seconds(604_800)), "it had begun")
    #expect(cluster.retention(url(3)) == Retention(after: .seconds(3_600)))
  }

  // MARK: - What is in the store

  @Test func `a hit is kept for longer where the request says so, and never for less`() {
    let cluster = ClusterModel.started()
    cluster.prestore([url(1)])
    cluster.view(url(1), expiry: seconds(100))
    cluster.submit([url(1)], expiry: seconds(10))
    #expect(cluster.finished().retention(url(1)) == Retention(after: .seconds(100)))
    let date = WallTime(rawValue: 1_800_000_000_000)
    cluster.submit([url(1)], expiry: Expiry(.at(date)))
    #expect(cluster.finished().retention(url(1)) == Retention(after: .seconds(100), until: date))
    #expect(cluster.fetchStarts.isEmpty)
  }

  @Test func `a hit begins to slide where the request says so, by default if unsaid`() {
    let cluster = ClusterModel.started()
    cluster.prestore([url(1), url(2)])
    cluster.view(url(1), expiry: Expiry(.standard, isSliding: true))
    cluster.view(url(2), expiry: seconds(9, isSliding: true))
    cluster.finishEverything()
    #expect(cluster.retention(url(1)) == Retention(after: .milliseconds(1), sliding: week))
    #expect(cluster.retention(url(2)) == Retention(after: .seconds(9), sliding: .seconds(9)))
  }

  // MARK: - Several who wait

  /// How far the first one's picture is when the second one comes.
  enum Stage: CaseIterable {
    case lookingUp, transferring, decoding, resultOnItsWay
  }

  private func cluster(at stage: Stage, expiry: Expiry) -> (ClusterModel, first: ViewerID) {
    let cluster = ClusterModel.started()
    let first = cluster.view(url(1), expiry: expiry)
    guard stage != .lookingUp else { return (cluster, first) }
    cluster.answerLookups()
    guard stage != .transferring else { return (cluster, first) }
    cluster.transferred(url(1))
    guard stage != .decoding else { return (cluster, first) }
    cluster.isMailHeld = true
    cluster.finish(url(1))
    return (cluster, first)
  }

  private func letAllEnd(_ cluster: ClusterModel) {
    cluster.isMailHeld = false
    cluster.handle(.timePassed)
    cluster.finishEverything()
  }

  @Test(arguments: Stage.allCases)
  func `the later expiry wins also where the second comes when work has begun`(stage: Stage) {
    let (cluster, first) = cluster(at: stage, expiry: seconds(10))
    let second = cluster.view(url(1), expiry: seconds(100))
    letAllEnd(cluster)
    #expect(cluster.answers[first] == .fetchedSample)
    #expect(cluster.answers[second] == .sharedSample)
    #expect(cluster.retention(url(1)) == Retention(after: .seconds(100)))
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.lookupStarts.count == (stage == .lookingUp ? 1 : 2))
    #expect(cluster.isIdle)
  }

  @Test(arguments: Stage.allCases)
  func `the default counts for requests that wait for a fetch`(stage: Stage) {
    let (cluster, _) = cluster(at: stage, expiry: seconds(10))
    cluster.view(url(1))
    letAllEnd(cluster)
    #expect(cluster.retention(url(1)) == Retention(after: week))
  }

  @Test(arguments: Stage.allCases)
  func `a late request that wants nothing more is served with the others`(stage: Stage) {
    let (cluster, _) = cluster(at: stage, expiry: seconds(10))
    let second = cluster.view(url(1), expiry: seconds(9))
    letAllEnd(cluster)
    #expect(cluster.answers[second] == .sharedSample)
    #expect(cluster.lookupStarts == [url(1)])
  }

  @Test func `a hit on its way is looked up again for a request that wants it longer`() {
    let cluster = ClusterModel.started()
    cluster.prestore([url(1)])
    cluster.isMailHeld = true
    let first = cluster.answeringLookups { $0.view(url(1)) }
    let second = cluster.view(url(1), expiry: seconds(100))
    let third = cluster.view(url(1))
    letAllEnd(cluster)
    for viewer in [first, second, third] { #expect(cluster.answers[viewer] == .cachedSample) }
    #expect(cluster.retention(url(1)) == Retention(after: .seconds(100)))
    #expect(cluster.lookupStarts.count == 2)
  }

  @Test func `what a worker stored before it died is kept for as long as all want`() throws {
    let (cluster, first) = cluster(at: .decoding, expiry: seconds(10))
    let second = cluster.view(url(1))
    cluster.store(url(1))
    cluster.exit(try #require(cluster.onlyWorker), .killed("SIGKILL"))
    cluster.advance(by: .seconds(10))
    letAllEnd(cluster)
    #expect(cluster.answers[first] == .sharedSample)
    #expect(cluster.answers[second] == .sharedSample)
    #expect(cluster.retention(url(1)) == Retention(after: week))
    #expect(cluster.fetchStarts.count == 1)
  }

  @Test func `a picture that was evicted before it could be kept for longer is fetched again`() {
    let (cluster, first) = cluster(at: .decoding, expiry: seconds(10))
    let second = cluster.view(url(1), expiry: seconds(100))
    cluster.finish(url(1))
    #expect(cluster.answers[first] == .fetchedSample)
    #expect(cluster.answers[second] == nil)
    cluster.store = StoreModel()
    letAllEnd(cluster)
    #expect(cluster.answers[second] == .fetchedSample)
    #expect(cluster.retention(url(1)) == Retention(after: .seconds(100)))
  }

  @Test func `the bytes count for the late request when no other is left`() {
    let cluster = ClusterModel.started()
    let first = cluster.answeringLookups { $0.submit([url(1)], expiry: seconds(10)) }
    let second = cluster.submit([url(1)], expiry: seconds(100))
    cluster.change(first, .cancel)
    #expect(cluster.finished().counts(second)?.bytesFetched == 50_000)
    #expect(cluster.counts(second)?.fromCache == 0)
  }

  @Test func `a late line of a paused job goes back to its list, and is kept as asked later`() {
    let cluster = ClusterModel.started()
    cluster.answeringLookups { $0.submit([url(1)], expiry: seconds(10)) }
    let second = cluster.submit([url(1)], expiry: seconds(100))
    cluster.change(second, .pause)
    #expect(cluster.finished().status(second)?.queued == 1)
    cluster.change(second, .resume)
    #expect(cluster.finished().counts(second)?.done == 1)
    #expect(cluster.retention(url(1)) == Retention(after: .seconds(100)))
  }

  @Test func `a late request gets a failure with the others, and a stop at once`() {
    let (failing, _) = cluster(at: .transferring, expiry: seconds(10))
    let unlucky = failing.view(url(1), expiry: seconds(100))
    failing.finish(url(1), .failure(.timeout))
    #expect(failing.answers[unlucky]?.failureCode == .timeout)

    let (draining, first) = cluster(at: .decoding, expiry: seconds(10))
    let late = draining.view(url(1), expiry: seconds(100))
    draining.handle(.drainRequested)
    draining.finish(url(1))
    #expect(draining.answers[first] == .fetchedSample)
    #expect(draining.answers[late]?.failureCode == .cancelled)
    #expect(draining.drainedCount == 1)
  }
}

/// Pictures that are not stored: the store has no room, or the request does not want them stored.
@Suite struct UncachedTests {
  private let cluster = ClusterModel.started()

  // MARK: - The store has no room

  @Test(arguments: [true, false])
  func `lines fail and viewers are served, in any order`(isLineFirst: Bool) {
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
    #expect(cluster.isIdle)
  }

  @Test func `what comes for a lease that has ended is released and changes nothing`() throws {
    cluster.leave(cluster.view(url(1)))
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.finish(url(1))
    let result = UncachedResult(
      lease: fetch.lease, made: .refused, bytesFetched: 1, isStoreDegraded: true)
    cluster.handle(.fromWorker(worker, .uncached(result), file: MemoryFileID(rawValue: 77)))
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.openFiles.isEmpty)
    #expect(cluster.scheduler.storeError == nil)
  }

  @Test func `a viewer that has left is not served, and its picture counts as late`() {
    let job = cluster.submit([url(1)])
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
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
    cluster.prestore([url(2)])
    cluster.view(url(1))
    cluster.answeringLookups { $0.view(url(3)) }
    cluster.refuse(url(1))
    cluster.answeringLookups { $0.view(url(2)) }
    cluster.finish(url(3), .failure(.timeout))
    #expect(cluster.scheduler.storeError != nil)
  }

  @Test func `a picture that is too large for the store is no error of the store`() throws {
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.makeUncached(fetch, of: worker)
    #expect(cluster.deliveries[viewer] == .refused)
    #expect(cluster.storeErrors.isEmpty)
  }

  // MARK: - The store is bypassed

  @Test func `what bypasses the store is fetched each time, whatever the store has`() {
    cluster.prestore([url(1)])
    for _ in 0..<3 {
      let viewer = cluster.view(url(1), bypassesStore: true)
      #expect(cluster.finished().deliveries[viewer] == .wanted)
      #expect(cluster.answers[viewer] == .fetchedSample)
    }
    #expect(cluster.lookupStarts.isEmpty)
    #expect(cluster.fetchStarts == [url(1), url(1), url(1)])
  }

  @Test func `two viewers that bypass the store at once share one fetch`() {
    let viewers = (0..<2).map { _ in cluster.view(url(1), bypassesStore: true) }
    cluster.finishEverything()
    #expect(viewers.map { cluster.answers[$0] } == [.fetchedSample, .sharedSample])
    #expect(viewers.allSatisfy { cluster.deliveries[$0] == .wanted })
    #expect(cluster.fetchStarts == [url(1)])
    #expect(!cluster.isStored(url(1)))
  }

  @Test func `beside one for the store, a transfer is shared but neither look-up nor result`() {
    let stored = cluster.answeringLookups { $0.view(url(1)) }
    let bypassing = cluster.view(url(1), bypassesStore: true)
    #expect(cluster.scheduler.work.count == 2)
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.attachedCount == 1)
    #expect(cluster.finished().deliveries[stored] == nil)
    #expect(cluster.deliveries[bypassing] == .wanted)
    #expect(cluster.isStored(url(1)))
  }

  @Test(arguments: [false, true])
  func `what bypasses the store is fetched again after its worker's death`(isIn: Bool) {
    cluster.prestore([url(1)])
    let viewer = cluster.view(url(1), bypassesStore: true)
    if isIn { cluster.transferred(url(1)) }
    for worker in cluster.workers.keys { cluster.exit(worker, .killed("SIGKILL")) }
    cluster.advance(by: .seconds(1))
    #expect(cluster.finished().deliveries[viewer] == .wanted)
    #expect(cluster.lookupStarts.isEmpty)
    #expect(cluster.fetchStarts == [url(1), url(1)])
  }

  @Test func `what bypasses the store is fetched after its viewer's delay`() {
    let viewer = cluster.view(url(1), delay: .milliseconds(500), bypassesStore: true)
    #expect(cluster.fetchStarts.isEmpty)
    cluster.advance(by: .milliseconds(500))
    #expect(cluster.finished().deliveries[viewer] == .wanted)
  }
}
