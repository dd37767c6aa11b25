import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Jobs that pin what they store, while pinned thumbnails use up the store.
@Suite(.timeLimit(.minutes(20))) struct PinTests {
  /// - Parameter percentage: how much of the store is pinned; `nil` if no worker has told yet.
  private func cluster(pinned percentage: Int64? = 0) -> ClusterModel {
    let cluster = ClusterModel.started()
    if let percentage { cluster.reportStore(pinned: percentage * 10_000, of: 1_000_000) }
    return cluster
  }

  private func wait(of job: JobID, in cluster: ClusterModel) -> Wait? {
    cluster.scheduler.status(of: job, at: cluster.now.instant)?.wait
  }

  @Test func `workers are told which jobs pin what they store or find`() {
    let cluster = cluster()
    cluster.prestore([url(1)])
    let first = cluster.submit([url(1), url(2)], pinPolicy: .whileActive)
    let second = cluster.submit([url(2)], pinPolicy: .untilExported)
    cluster.submit([url(2)])
    #expect(cluster.finished().retention(url(1))?.pins == [first])
    #expect(cluster.retention(url(2))?.pins == [first, second])
  }

  @Test func `after the start, only jobs that pin wait until a worker tells what is pinned`() {
    let cluster = cluster(pinned: nil)
    let pinning = cluster.submit([url(1)], pinPolicy: .untilExported)
    let other = cluster.submit([url(2)])
    #expect(cluster.finished().fetchStarts == [url(2)])
    #expect(cluster.counts(other)?.done == 1)
    cluster.advance(by: .seconds(3))
    #expect(wait(of: pinning, in: cluster) == Wait(.lookingUp))
    cluster.reportStore(pinned: 90 * 10_000, of: 1_000_000)
    cluster.finishEverything()
    #expect(wait(of: pinning, in: cluster) == Wait(.storePinned))
    let areJobsHeld = cluster.scheduler.areJobsHeld
    #expect(areJobsHeld)
    cluster.reportStore(pinned: 90 * 10_000, of: 1_000_000, by: [other])
    #expect(
      wait(of: pinning, in: cluster)?.detail
        == "pins use up the store (imgctl export \(other) DIR, imgctl unpin \(other), or --store-budget)"
    )
    cluster.reportStore(pinned: 90 * 10_000, of: 2_000_000, disk: 1_000_000, by: [pinning])
    #expect(
      wait(of: pinning, in: cluster)?.detail
        == "the disk of /data/store is full; free space on it, imgctl export \(pinning) DIR, or imgctl unpin \(pinning)"
    )
    cluster.reportStore(pinned: 80 * 10_000, of: 1_000_000)
    #expect(cluster.finished().counts(pinning)?.done == 1)
  }

  @Test func `a job without room for its pins waits until there is room, losing no line`() throws {
    let cluster = cluster()
    let job = cluster.submit([url(1), url(2), url(3)], pinPolicy: .whileActive)
    cluster.answerLookups()
    cluster.finish(url(1))
    cluster.refusePin(url(2))
    #expect(cluster.counts(job)?.failed == 0)
    #expect(cluster.scheduler.storeError == nil)
    // What was under way ends.
    cluster.finish(url(3))
    cluster.advance(by: .seconds(3))
    #expect(wait(of: job, in: cluster) == Wait(.storePinned))
    #expect(cluster.fetch(of: url(2)) == nil)
    // What was refused is stored without pins, for others.
    let viewer = cluster.answeringLookups { $0.view(url(2)) }
    #expect(cluster.answers[viewer] != nil)

    // There is room, but not for what was refused.
    cluster.reportStore(pinned: 80 * 10_000, of: 1_000_000)
    let worker = try #require(cluster.workers.values.first { !$0.lookups.isEmpty }?.id)
    cluster.answerLookup(of: worker, refusingPins: true)
    for _ in 0..<2 { cluster.reportStore(pinned: 80 * 10_000, of: 1_000_000) }
    cluster.advance(by: .seconds(3))
    #expect(wait(of: job, in: cluster) == Wait(.storePinned))
    cluster.reportStore(pinned: 50 * 10_000, of: 1_000_000)
    #expect(cluster.finished().counts(job)?.done == 3)
    #expect(cluster.counts(job)?.fromCache == 0, "the job has fetched all of them")
    #expect(cluster.retention(url(2))?.pins == [job])
    #expect(cluster.fetchStarts.count == 3)
  }

  @Test func `room that came before the refusal was known is room`() {
    let cluster = cluster()
    let job = cluster.answeringLookups { $0.submit([url(1)], pinPolicy: .whileActive) }
    // Another job has ended, and its pins are gone, when the refusal arrives.
    cluster.refusePin(url(1))
    for _ in 0..<2 { cluster.reportStore(pinned: 0, of: 1_000_000) }
    #expect(cluster.finished().counts(job)?.done == 1)
  }

  @Test func `a job goes on until nine tenths of the store are pinned`() {
    let cluster = cluster()
    let job = cluster.submit([url(1)], pinPolicy: .whileActive)
    cluster.reportStore(pinned: 89 * 10_000, of: 1_000_000)
    #expect(cluster.finished().counts(job)?.done == 1)
    // One that waits goes on only with more room.
    let next = cluster.submit([url(2)], pinPolicy: .whileActive)
    cluster.reportStore(pinned: 90 * 10_000, of: 1_000_000)
    cluster.reportStore(pinned: 89 * 10_000, of: 1_000_000)
    #expect(cluster.finished().counts(next)?.finished == 0)
  }

  @Test func `jobs without pins and viewers go on meanwhile`() {
    let cluster = cluster(pinned: 90)
    let waiting = cluster.submit([url(1), url(2)], pinPolicy: .untilExported)
    let other = cluster.submit([url(1)])
    let viewer = cluster.view(url(2))
    #expect(cluster.finished().counts(other)?.done == 1)
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.counts(waiting)?.finished == 0)
    // From now on it is such a job, too.
    cluster.change(waiting, .unpin)
    #expect(cluster.finished().counts(waiting)?.done == 2)
  }

  @Test func `a job that was unpinned waits until the store has removed its pins`() {
    let cluster = cluster()
    let job = cluster.submit([url(1)], pinPolicy: .untilExported)
    cluster.reportStore(pinned: 90 * 10_000, of: 1_000_000, by: [job])
    cluster.change(job, .unpin)
    cluster.finishEverything()
    #expect(cluster.counts(job)?.finished == 0)
    cluster.reportStore(pinned: 40 * 10_000, of: 1_000_000, by: [job])
    #expect(cluster.finished().counts(job)?.finished == 0)
    // What others pin does not matter to it.
    cluster.reportStore(pinned: 90 * 10_000, of: 1_000_000)
    #expect(cluster.finished().counts(job)?.done == 1)
  }

  @Test func `a stored thumbnail that cannot be pinned serves others and waits for a job`() throws {
    let cluster = cluster()
    cluster.prestore([url(1)])
    let job = cluster.submit([url(1)], pinPolicy: .whileActive)
    let viewer = cluster.view(url(1))
    let worker = try #require(cluster.workers.values.first { !$0.lookups.isEmpty }?.id)
    cluster.answerLookup(of: worker, refusingPins: true)
    cluster.answerLookups()
    #expect(cluster.answers[viewer] != nil)
    #expect(cluster.fetchStarts.isEmpty)
    #expect(cluster.counts(job)?.finished == 0)
    for percentage in [90, 10] {
      cluster.reportStore(pinned: Int64(percentage) * 10_000, of: 1_000_000)
    }
    #expect(cluster.finished().counts(job)?.done == 1)
    #expect(cluster.fetchStarts.isEmpty)
  }

  @Test func `a job that will need more than the store holds says so from the beginning`() {
    let cluster = cluster(pinned: nil)
    let small = cluster.submit(count: 10) { url($0) }
    let large = cluster.submit(count: 100_000) { url($0) }
    #expect(cluster.scheduler.status(of: small)?.storeShortage == nil)
    let assumed = cluster.scheduler.status(of: large)?.storeShortage
    #expect(assumed?.neededByteCount == Int64(100_000 * 8_192))
    #expect(assumed?.budgetByteCount == cluster.scheduler.limits.storeBudgetByteCount)
    let limited = StoreReport(
      directory: "/data/store", budgetByteCount: 400 << 20, diskByteCount: 50_000,
      pinnedByteCount: 0, pinningJobs: [])
    cluster.handle(.fromWorker(WorkerID(rawValue: 1), .store(limited)))
    #expect(cluster.scheduler.status(of: small)?.storeShortage?.effectiveByteCount == 50_000)
  }
}
