import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// The order in which URLs start, and what each request hears.
@Suite struct QueueTests {
  private let cluster = ClusterModel.started()

  /// Two places; a list of 1…5, of which two run.
  private func busyCluster(order: LineOrder = .firstInFirstOut) -> ClusterModel {
    let cluster = ClusterModel.started(transfers: 2)
    cluster.answeringLookups { $0.submit((1...5).map { url($0) }, order: order) }
    return cluster
  }

  @Test func `URLs start in the order requested, and a viewer's comes first`() {
    let cluster = busyCluster()
    cluster.submit([url(6), url(7)])
    cluster.view(url(7))
    #expect(cluster.fetchStarts == [url(1), url(2)])
    #expect(cluster.startsUntilIdle() == [7, 3, 6, 4, 5], "two lists start in turn")
  }

  @Test func `viewers of a higher priority go first, and all before the most urgent list`() {
    let cluster = busyCluster()
    cluster.submit([url(6)], priority: 2)
    for (number, priority) in [(10, 0), (11, -2), (12, 2), (13, 0)] {
      cluster.view(url(number), priority: priority)
    }
    #expect(cluster.startsUntilIdle() == [12, 13, 10, 11, 6, 3, 4, 5])
  }

  @Test func `the most urgent of those that wait for a URL counts`() {
    let cluster = busyCluster()
    cluster.view(url(10), priority: -1)
    cluster.view(url(11), priority: 1)
    cluster.view(url(10), priority: 2)
    #expect(cluster.startsUntilIdle() == [10, 11, 3, 4, 5])
  }

  @Test(arguments: [[99, 3], [3, 99]])
  func `views of 99 and 3 start the newer first, then 4, 5, and 3 is fetched once`(viewed: [Int]) {
    let cluster = busyCluster()
    #expect(cluster.fetchStarts == [url(1), url(2)])
    let views = viewed.map { cluster.view(url($0)) }
    cluster.answerLookups()
    let order = [1, 2] + viewed.reversed() + [4, 5]
    for (released, started) in zip(order, order.dropFirst(2)) {
      cluster.finish(url(released))
      #expect(cluster.fetchStarts.last == url(started))
      #expect(cluster.fetching.count == 2)
    }
    #expect(cluster.finished().fetchStarts == order.map { url($0) })
    #expect(views.allSatisfy { cluster.answers[$0]?.failureCode == nil })
    #expect(cluster.answers.count == 2)
  }

  @Test func `without viewers, lifo lists start newest first`() {
    let cluster = busyCluster(order: .lastInFirstOut)
    #expect(cluster.fetchStarts == [url(5), url(4)])
    cluster.view(url(99))
    cluster.view(url(3))
    #expect(cluster.startsUntilIdle() == [3, 99, 2, 1])
  }

  @Test func `what is done leaves the queue`() throws {
    let cluster = busyCluster()
    let job = try #require(cluster.scheduler.jobs.ids.first)
    for ended in 1...4 {
      cluster.finish(cluster.fetching[0])
      #expect(cluster.scheduler.work.count == 5 - ended)
      #expect(cluster.status(job)?.queued == max(0, 3 - ended))
    }
  }

  @Test func `every request is answered exactly once`() {
    let cluster = ClusterModel.started(workers: 2)
    cluster.areInvariantsChecked = false
    var viewers: [ViewerID] = []
    var jobs: [JobID] = []
    for number in 0..<200 {
      viewers.append(cluster.view(url(number % 50)))
      jobs.append(cluster.submit([url(number % 70)]))
    }
    cluster.finishEverything()
    #expect(Set(cluster.answers.keys) == Set(viewers))
    #expect(Set(cluster.endedJobs.keys) == Set(jobs))
    #expect(cluster.isIdle)
  }

  @Test func `a viewer that cancels leaves the other its picture`() {
    let leaving = cluster.view(url(1))
    let staying = cluster.answeringLookups { $0.view(url(1)) }
    cluster.leave(leaving)
    #expect(cluster.finished().answers[staying] == .fetchedSample)
    #expect(cluster.answers[leaving] == nil)
    #expect(cluster.fetchStarts == [url(1)])
  }

  @Test func `a cancelled list ends items that no other request waits for`() {
    let cluster = busyCluster()
    let viewer = cluster.view(url(1))
    let other = cluster.answeringLookups { $0.submit([url(4)]) }
    #expect(cluster.change(JobID(rawValue: 1), .cancel))
    #expect(cluster.endedJobs[JobID(rawValue: 1)]?.counts.cancelled == 5)
    #expect(cluster.cancelledLeases == [cluster.fetch(of: url(2))?.fetch.lease])
    cluster.finish(url(2), .cancelled)
    #expect(cluster.finished().fetchStarts == [1, 2, 4].map { url($0) })
    #expect(cluster.answers[viewer]?.failureCode == nil)
    #expect(cluster.counts(other)?.done == 1)
  }

  @Test func `one viewer shows one URL, and moving on detaches it from the first`() {
    let cluster = busyCluster()
    let first = cluster.view(url(5), name: "v1")
    let second = cluster.view(url(6), name: "v1")
    #expect(cluster.answers[first] == .cancelled)
    #expect(cluster.startsUntilIdle() == [6, 3, 4, 5], "5 is no more urgent than before")
    #expect(cluster.answers[first] == .cancelled)
    #expect(cluster.answers[second] == .fetchedSample)
  }

  @Test func `viewers without a name, or of other names, do not detach each other`() {
    let viewers = [nil, nil, "a", "b"].enumerated().map { cluster.view(url($0), name: $1) }
    cluster.finishEverything()
    #expect(viewers.allSatisfy { cluster.answers[$0] == .fetchedSample })
  }

  @Test func `what comes too late for a viewer that moved on is dropped and counted`() {
    let slow = cluster.answeringLookups { $0.view(url(1), name: "v1") }
    let fast = cluster.answeringLookups { $0.view(url(2), name: "v1") }
    cluster.finish(url(2))
    #expect(cluster.scheduler.discardedLateCount == 0)
    cluster.finish(url(1))
    #expect(cluster.answers == [slow: .cancelled, fast: .fetchedSample])
    #expect(cluster.scheduler.discardedLateCount == 1)
  }

  @Test func `what comes too late for a viewer is counted, too, when a list still waits for it`() {
    let job = cluster.answeringLookups { $0.submit([url(1)]) }
    cluster.leave(cluster.view(url(1)))
    #expect(cluster.finished().counts(job)?.done == 1)
    #expect(cluster.scheduler.discardedLateCount == 1)
  }

  @Test func `a viewer that leaves before its fetch begins counts no late result`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.answeringLookups { $0.view(url(1)) }
    let viewer = cluster.answeringLookups { $0.view(url(2)) }
    cluster.leave(viewer)
    #expect(cluster.finished().fetchStarts == [url(1)])
    #expect(cluster.scheduler.discardedLateCount == 0)
  }
}

/// The strongest of all who wait for a URL counts, for as long as it waits.
@Suite struct StrongestPriorityTests {
  /// One place, taken; a low list of 1 and 2, a middle one of 3, and a high one of 2.
  private func cluster() -> (ClusterModel, high: JobID) {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.answeringLookups { $0.view(url(0)) }
    cluster.submit([url(1), url(2)], priority: -2)
    cluster.submit([url(3)])
    let high = cluster.answeringLookups { $0.submit([url(2)], priority: 2) }
    return (cluster, high)
  }

  @Test func `low and high together start as high`() {
    let (cluster, _) = cluster()
    #expect(cluster.startsUntilIdle() == [2, 3, 1])
  }

  @Test(arguments: [ImageJobChange.cancel, .pause])
  func `when the high one is cancelled or paused the rest is low again`(change: ImageJobChange) {
    let (cluster, high) = cluster()
    cluster.change(high, change)
    #expect(cluster.startsUntilIdle() == [3, 1, 2])
  }

  @Test func `when the high one becomes low the URL is low, and back`() {
    let (cluster, high) = cluster()
    cluster.change(high, .setPriority(.veryLow))
    #expect(cluster.scheduler.work.all.allSatisfy { $0.urgency.priority < 2 })
    cluster.change(high, .setPriority(.high))
    #expect(cluster.startsUntilIdle() == [2, 3, 1])
  }

  @Test func `over two variants of a URL the stronger counts for its one transfer`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.answeringLookups { $0.view(url(0)) }
    cluster.submit([url(1), url(2)])
    let high = cluster.answeringLookups { $0.submit([url(2)], variant: .small, priority: 2) }
    cluster.change(high, .setPriority(.veryLow))
    cluster.change(high, .setPriority(.veryHigh))
    #expect(cluster.startsUntilIdle() == [2, 1])
    #expect(cluster.attachedCount == 1)
  }

  @Test func `a viewer that asks again for the same URL does not start again`() {
    let cluster = ClusterModel.started()
    let first = cluster.answeringLookups { $0.view(url(1), name: "cell") }
    let second = cluster.view(url(1), name: "cell")
    #expect(cluster.answers[first] == .cancelled)
    #expect(cluster.cancelledLeases.isEmpty)
    cluster.finish(url(1))
    #expect(cluster.answers[second] != nil)
    #expect(cluster.fetchStarts == [url(1)])
  }
}

/// Which worker gets a URL.
@Suite struct PlacementTests {
  /// The number of the worker to which the URL belongs.
  private func owner(of url: String, among workers: some Sequence<Int>) -> Int? {
    let digest = RendezvousHash.digest(url)
    return workers.max {
      RendezvousHash.weight(digest: digest, number: $0)
        < RendezvousHash.weight(digest: digest, number: $1)
    }
  }

  @Test(arguments: [2, 4, 8])
  func `10,000 URLs are shared within a tenth`(workerCount: Int) {
    var shares: [Int: Int] = [:]
    for number in 0..<10_000 {
      if let owner = owner(of: url(number), among: 0..<workerCount) {
        shares[owner, default: 0] += 1
      }
    }
    let even = Double(10_000 / workerCount)
    for worker in 0..<workerCount {
      let share = Double(shares[worker, default: 0])
      #expect(abs(share - even) / even < 0.1, "worker \(worker) has \(share) of \(even)")
    }
  }

  @Test func `a worker that goes moves only its own share`() {
    for number in 0..<2_000 {
      let before = owner(of: url(number), among: 0..<4)
      let after = owner(of: url(number), among: [0, 1, 3])
      #expect(before == 2 || before == after)
    }
  }

  /// URLs that all belong to worker 0 of 2.
  private func lopsidedURLs(_ count: Int) -> [String] {
    Array((0...).lazy.map { url($0) }.filter { owner(of: $0, among: 0..<2) == 0 }.prefix(count))
  }

  @Test func `an idle worker takes from a busy one`() {
    let cluster = ClusterModel.started(workers: 2, perHost: 64)
    cluster.answeringLookups { $0.submit(lopsidedURLs(40)) }
    let loads = cluster.workers.values.sorted { $0.number < $1.number }.map(\.fetches.count)
    #expect(loads.reduce(0, +) == 40)
    #expect(loads[0] > loads[1])
    #expect(loads[0] - loads[1] <= 6, "\(loads)")
  }

  @Test func `a few URLs stay with their own worker`() {
    let cluster = ClusterModel.started(workers: 2)
    cluster.answeringLookups { $0.submit(lopsidedURLs(4)) }
    let loads = cluster.workers.values.sorted { $0.number < $1.number }.map(\.fetches.count)
    #expect(loads == [4, 0])
  }

  @Test func `credits are used up and never exceeded`() {
    let cluster = ClusterModel.started(
      workers: 2, credits: Credits(lookups: 3, leases: 5, decodeQueueTarget: 8))
    cluster.submit(spreadURLs(1...50))
    #expect(cluster.lookupCount == 6)
    cluster.answerLookups()
    #expect(cluster.fetching.count == 10)
    for url in cluster.fetching { cluster.transferred(url) }
    #expect(cluster.fetching.count == 10, "a picture that waits for the decoder holds a credit")
    #expect(cluster.finished().fetchStarts.count == 50)
  }

  @Test func `URLs of one variant and expiry travel in one frame`() {
    let cluster = ClusterModel()
    cluster.submit(spreadURLs(1...100))
    cluster.handle(.began)
    #expect(cluster.workers.values.flatMap(\.lookups).count == 1)
  }

  @Test func `a batch of long URLs is cut so that each frame is within its limit`() throws {
    let cluster = ClusterModel()
    let padding = String(repeating: "\"", count: 8_000)
    // JSON writes each of these marks as two bytes.
    cluster.submit((1...200).map { "data:,\($0)" + padding })
    cluster.handle(.began)
    let batches = cluster.workers.values.flatMap(\.lookups)
    #expect(batches.count > 1)
    #expect(batches.flatMap(\.items).count == 200)
    for batch in batches {
      let byteCount = batch.items.reduce(0) { $0 + 6 * $1.url.utf8.count + 64 }
      #expect(byteCount < Frame.maximumByteCount)
    }
  }
}
