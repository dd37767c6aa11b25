import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Who is next.
@Suite struct OrderTests {
  /// Places for two; a batch of 1…5 of which 1 and 2 run.
  private func busyCluster() -> ClusterModel {
    let cluster = ClusterModel.started(transfers: 2)
    cluster.answeringLookups { $0.submit(spreadURLs(1...5)) }
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
    #expect(cluster.workers.values.flatMap(\.lookups).flatMap(\.items).map(\.url) == [url(99)])
  }

  @Test func `a higher priority goes first`() {
    let cluster = ClusterModel(transfers: 1)
    cluster.submit(spreadURLs(1...2), priority: -1)
    cluster.submit(spreadURLs(11...12))
    cluster.submit(spreadURLs(21...22), priority: 2)
    cluster.handle(.began)
    #expect(cluster.finished().lookupStarts == spreadURLs([21, 22, 11, 12, 1, 2]))
    #expect(cluster.fetchStarts == spreadURLs([21, 22, 11, 12, 1, 2]))
  }

  @Test func `a less urgent job that was looked up first is transferred later`() {
    let cluster = busyCluster()
    cluster.answeringLookups { $0.submit(spreadURLs(11...12), priority: 1) }
    #expect(cluster.startsUntilIdle() == [11, 12, 3, 4, 5])
  }
}

/// Jobs share the transfers in turn, however long their lists are.
@Suite struct TurnTests {
  /// One place, and a list of 4,000 of which one runs and many wait.
  private func clusterWithLongJob(hostCount: Int) -> (ClusterModel, JobID) {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.areInvariantsChecked = false
    let job = cluster.submit(count: 4_000) { url($0, host: "host\($0 % hostCount)") }
    cluster.answerLookups()
    return (cluster, job)
  }

  private func isOfShort(_ url: String) -> Bool {
    ClusterModel.number(of: url).map { $0 >= 10_000 } ?? false
  }

  private func shortURLs(_ count: Int) -> [String] {
    (0..<count).map { url(10_000 + $0, host: "host0") }
  }

  /// For each of the next transfers, whether it is the short list's.
  private func nextStarts(_ count: Int, of cluster: ClusterModel) -> [Bool] {
    cluster.answerLookups()
    cluster.fetchStarts = []
    while cluster.fetchStarts.count < count, let url = cluster.fetching.first {
      cluster.finish(url)
      cluster.answerLookups()
    }
    return cluster.fetchStarts.map(isOfShort)
  }

  @Test(arguments: [1, 100])
  func `a job of 10 gets every second transfer beside one of 4,000`(hostCount: Int) {
    let (cluster, _) = clusterWithLongJob(hostCount: hostCount)
    _ = nextStarts(30, of: cluster)
    let short = cluster.submit(shortURLs(10))
    let starts = nextStarts(20, of: cluster)
    #expect(starts == (0..<20).map { !$0.isMultiple(of: 2) })
    cluster.finish(cluster.fetching[0])
    #expect(cluster.endedJobs[short]?.counts.done == 10)
  }

  @Test func `three jobs get a third each`() {
    let (cluster, _) = clusterWithLongJob(hostCount: 1)
    cluster.submit(count: 500) { url($0 + 5_000, host: "other") }
    cluster.submit(shortURLs(10))
    let starts = nextStarts(30, of: cluster)
    for third in 0..<10 { #expect(starts[(3 * third)..<(3 * third + 3)].count { $0 } == 1) }
  }

  @Test func `a job of a higher priority gets every transfer until it is done`() {
    let (cluster, _) = clusterWithLongJob(hostCount: 100)
    cluster.submit(shortURLs(10), priority: 1)
    #expect(nextStarts(12, of: cluster) == (0..<12).map { $0 < 10 })
  }

  @Test func `a job that had nothing to fetch for a while has saved nothing up`() {
    let (cluster, _) = clusterWithLongJob(hostCount: 100)
    let short = cluster.submit(shortURLs(11))
    #expect(nextStarts(2, of: cluster) == [false, true])
    cluster.change(short, .pause)
    _ = nextStarts(100, of: cluster)
    cluster.change(short, .resume)
    #expect(nextStarts(10, of: cluster).count { $0 } == 5)
  }

  @Test func `a job that was alone for long does not pay for it later`() {
    let (cluster, long) = clusterWithLongJob(hostCount: 100)
    _ = nextStarts(100, of: cluster)
    cluster.submit(shortURLs(50))
    #expect(nextStarts(10, of: cluster).count { !$0 } == 5)
    #expect(cluster.status(long)?.state == .running)
  }

  @Test func `a job whose priority is raised goes first at once, and lowered goes last`() {
    let (cluster, _) = clusterWithLongJob(hostCount: 100)
    let short = cluster.submit(shortURLs(12))
    #expect(nextStarts(4, of: cluster).count { $0 } == 2)
    cluster.change(short, .setPriority(.veryHigh))
    #expect(nextStarts(4, of: cluster) == [true, true, true, true])
    cluster.change(short, .setPriority(.veryLow))
    #expect(nextStarts(10, of: cluster).allSatisfy { !$0 })
    cluster.change(short, .setPriority(.normal))
    #expect(nextStarts(8, of: cluster).count { $0 } == 4)
  }

  @Test func `a job raised among others of its new priority waits its turn there`() {
    let (cluster, _) = clusterWithLongJob(hostCount: 1)
    let short = cluster.submit(shortURLs(30), priority: -1)
    _ = nextStarts(50, of: cluster)
    cluster.change(short, .setPriority(.normal))
    #expect(nextStarts(10, of: cluster).count { $0 } == 5)
  }
}

/// Turns go round.
@Suite struct TurnQueueTests {
  @Test func `each member has one turn before any has a second`() {
    var turns = TurnQueue<Int>()
    for member in [1, 1, 1, 2, 1, 3, 2] { turns.append(member) }
    var served: [Int] = []
    for _ in 0..<6 {
      guard let member = turns.removeFirst() else { break }
      served.append(member)
      turns.append(member)
    }
    #expect(served == [1, 2, 3, 1, 2, 3])
  }

  @Test func `a queue without members has no turn`() {
    var turns = TurnQueue<Int>()
    #expect(turns.isEmpty)
    turns.append(1)
    #expect(!turns.isEmpty)
    #expect(turns.removeFirst() == 1)
    #expect(turns.removeFirst() == nil)
    #expect(turns.isEmpty)
  }
}

/// Work for a slow host never holds work for others up.
@Suite(.timeLimit(.minutes(20))) struct ShareTests {
  /// Ends every fetch but those of slow hosts, as often as `rounds` says.
  private func workOffFastHosts(_ cluster: ClusterModel, rounds: Int = 50) {
    for _ in 0..<rounds {
      cluster.answerLookups()
      for url in cluster.fetching where !url.contains("//slow") { cluster.finish(url) }
    }
  }

  @Test(arguments: [0, 30, 63, 200])
  func `a slow host holds no later line up, however many jobs are paused`(jobCount: Int) {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.areInvariantsChecked = false
    for _ in 0..<jobCount { cluster.change(cluster.submit([url(0, host: "other")]), .pause) }
    let slow = (0..<200).map { url($0, host: "slow") }
    let job = cluster.submit(slow + spreadURLs(1...10))
    workOffFastHosts(cluster)
    #expect(cluster.counts(job)?.done == 10)
  }

  @Test func `a slow host holds no later line up, beside as many jobs that run`() {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.areInvariantsChecked = false
    for number in 0..<100 {
      cluster.submit((0..<20).map { url($0, host: "slow\(number)") })
    }
    let slow = (0..<200).map { url($0, host: "slow") }
    let job = cluster.submit(slow + spreadURLs(1...10))
    cluster.changeLimits(LimitChange(transfers: 200, transfersPerHost: 1, hostRatePerMinute: 0))
    workOffFastHosts(cluster)
    #expect(cluster.counts(job)?.done == 10)
  }

  @Test(arguments: [20, 50, 80, 200])
  func `many slow hosts hold no later line up`(hostCount: Int) {
    let cluster = ClusterModel.started(
      transfers: 300, perHost: 1, credits: Credits(lookups: 256, leases: 512, decodeQueueTarget: 8))
    cluster.areInvariantsChecked = false
    let slow = (0..<40 * hostCount).map { url($0, host: "slow\($0 % hostCount)") }
    let job = cluster.submit(slow + spreadURLs(1...10))
    workOffFastHosts(cluster)
    #expect(cluster.counts(job)?.done == 10)
  }
}

/// U14: nothing is looked up or fetched before the delay is over.
@Suite struct DelayTests {
  private let cluster = ClusterModel.started()

  @Test(arguments: [false, true])
  func `a viewer is not looked up before its delay is over`(isStored: Bool) {
    if isStored { cluster.prestore([url(1)]) }
    let viewer = cluster.view(url(1), delay: .milliseconds(500))
    #expect(cluster.scheduler.deadline == cluster.now.instant + .milliseconds(500))
    cluster.advance(by: .milliseconds(499))
    cluster.handle(.timePassed)
    #expect(cluster.lookupStarts.isEmpty)
    cluster.advance(by: .milliseconds(1))
    #expect(cluster.lookupStarts == [url(1)])
    #expect(cluster.scheduler.deadline == nil)
    #expect(cluster.finished().answers[viewer] == (isStored ? .cachedSample : .fetchedSample))
  }

  @Test(arguments: [false, true])
  func `a list is not looked up before its delay is over`(isStored: Bool) {
    if isStored { cluster.prestore([url(1), url(2)]) }
    let job = cluster.submit([url(1), url(2)], delay: .milliseconds(500))
    #expect(cluster.status(job)?.state == .scheduled)
    cluster.advance(by: .milliseconds(499))
    cluster.handle(.timePassed)
    #expect(cluster.lookupStarts.isEmpty)
    #expect(cluster.status(job)?.queued == 2)
    cluster.advance(by: .milliseconds(1))
    #expect(cluster.lookupStarts == [url(1), url(2)])
    #expect(cluster.finished().counts(job)?.fromCache == (isStored ? 2 : 0))
    #expect(cluster.endedJobs[job]?.startedAt == cluster.now.wall)
  }

  @Test func `leaving within the delay costs nothing`() {
    let viewer = cluster.view(url(1), delay: .milliseconds(500))
    let job = cluster.submit([url(2)], delay: .milliseconds(500))
    cluster.advance(by: .milliseconds(200))
    cluster.leave(viewer)
    cluster.change(job, .cancel)
    #expect(cluster.scheduler.deadline == nil)
    #expect(cluster.isIdle)
    cluster.advance(by: .seconds(1))
    cluster.handle(.timePassed)
    #expect(cluster.lookupStarts.isEmpty)
    #expect(cluster.endedJobs[job]?.counts.cancelled == 1)
    #expect(cluster.scheduler.discardedLateCount == 0)
  }

  @Test func `a viewer that moves on within the delay is superseded without a request`() {
    let first = cluster.view(url(1), name: "v", delay: .milliseconds(250))
    let second = cluster.view(url(2), name: "v", delay: .milliseconds(250))
    #expect(cluster.answers[first] == .cancelled)
    cluster.advance(by: .milliseconds(250))
    #expect(cluster.finished().lookupStarts == [url(2)])
    #expect(cluster.answers[second] == .fetchedSample)
  }

  @Test func `what a delayed viewer waits for is begun for others at once`() {
    let delayed = cluster.view(url(1), delay: .milliseconds(500))
    let other = cluster.answeringLookups { $0.view(url(1)) }
    cluster.advance(by: .milliseconds(500))
    #expect(cluster.finished().fetchStarts == [url(1)])
    #expect(cluster.answers[other] == .fetchedSample)
    #expect(cluster.answers[delayed] == .sharedSample)
  }

  @Test func `a delay that has passed before a restart is not waited for again`() {
    cluster.submit([url(1)], delay: .milliseconds(500))
    cluster.advance(by: .milliseconds(200))
    cluster.restart()
    #expect(cluster.scheduler.deadline == cluster.now.instant + .milliseconds(300))
    cluster.advance(by: .milliseconds(300))
    #expect(cluster.lookupStarts == [url(1)])
    cluster.restart()
    #expect(cluster.lookupStarts == [url(1), url(1)])
  }

  @Test func `a paused list does not start when its delay is over`() {
    let job = cluster.submit([url(1)], delay: .milliseconds(500))
    cluster.change(job, .pause)
    cluster.advance(by: .milliseconds(500))
    #expect(cluster.lookupStarts.isEmpty)
    cluster.change(job, .resume)
    #expect(cluster.lookupStarts == [url(1)])
  }

  @Test func `a delay is never longer than it was meant to be, however the clock is set`() {
    let job = cluster.submit([url(1)], delay: .seconds(1))
    cluster.setClock(by: .seconds(-2_000_000))
    cluster.restart()
    #expect(cluster.status(job)?.state == .scheduled)
    cluster.advance(by: .seconds(1))
    #expect(cluster.lookupCount == 1)
  }
}
