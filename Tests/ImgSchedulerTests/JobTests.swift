import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

@Suite struct JobTests {
  private let cluster = ClusterModel.started()

  @Test func `a list of misses is looked up, fetched, recorded and finished`() throws {
    let job = cluster.submit(spreadURLs(1...10))
    #expect(cluster.status(job)?.state == .running)
    #expect(cluster.status(job)?.running == 10)
    cluster.answerLookups()
    #expect(cluster.fetching == spreadURLs(1...10))
    cluster.finishEverything()

    let record = try #require(cluster.endedJobs[job])
    var counts = JobCounts(total: 10)
    counts.done = 10
    counts.bytesFetched = 500_000
    counts.bytesStored = 10_000
    #expect(record.counts == counts)
    #expect(record.counts == cluster.journal.jobs[job]?.record.counts)
    #expect(record.state == .finished)
    #expect(record.startedAt == cluster.now.wall)
    #expect(record.finishedAt == cluster.now.wall)
    #expect(cluster.isIdle)
  }

  @Test func `hits count as from the cache and are not fetched`() throws {
    cluster.prestore([url(1), url(2)])
    let job = cluster.submit([url(1), url(2), url(3)])
    cluster.finishEverything()
    let counts = try #require(cluster.counts(job))
    #expect(counts.done == 3)
    #expect(counts.fromCache == 2)
    #expect(counts.bytesFetched == 50_000)
    #expect(cluster.fetchStarts == [url(3)])
  }

  @Test func `a line that is no URL fails without reaching a worker`() throws {
    let job = cluster.submit(["nonsense", "ftp://example.com/a"])
    #expect(cluster.lookupCount == 0)
    let record = try #require(cluster.endedJobs[job])
    #expect(record.counts.failed == 2)
    #expect(record.startedAt != nil)
    let outcomes = try #require(cluster.journal.jobs[job]?.outcomes)
    #expect(outcomes[0]?.outcome.failureCode == .invalidURL)
    #expect(outcomes[1]?.outcome.failureCode == .unsupportedScheme)
  }

  @Test func `an empty job finishes`() {
    let job = cluster.submit([])
    #expect(cluster.endedJobs[job]?.state == .finished)
    #expect(cluster.isIdle)
  }

  @Test func `a job found after a crash goes on behind what it has`() throws {
    var counts = JobCounts(total: 2_000)
    counts.done = 1_990
    let record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), state: .queued,
      counts: counts, submittedAt: cluster.now.wall, startedAt: cluster.now.wall, lowWater: 1_990)
    cluster.journal.add(record) { url($0) }
    cluster.areInvariantsChecked = false
    cluster.handle(.jobAccepted(record))
    #expect(cluster.finished().fetchStarts == (1_990..<2_000).map { url($0) })
    #expect(cluster.endedJobs[record.id]?.counts.done == 2_000)
  }

  @Test func `a job found after a crash with all its outcomes finishes`() {
    var counts = JobCounts(total: 3)
    counts.failed = 3
    let record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), state: .queued,
      counts: counts, submittedAt: cluster.now.wall, startedAt: cluster.now.wall, lowWater: 3)
    cluster.areInvariantsChecked = false
    cluster.journal.add(record) { url($0) }
    cluster.handle(.jobAccepted(record))
    #expect(cluster.endedJobs[record.id]?.state == .finished)
  }

  @Test func `a cancelled job ends at once with the rest counted as cancelled`() throws {
    let cluster = ClusterModel.started(transfers: 2)
    let job = cluster.answeringLookups { $0.submit(spreadURLs(1...10)) }
    cluster.finish(url(1, host: "host1"))
    cluster.change(job, .cancel)

    let record = try #require(cluster.endedJobs[job])
    #expect(record.state == .cancelled)
    #expect(record.counts.done == 1)
    #expect(record.counts.cancelled == 9)
    #expect(cluster.cancelledLeases.count == 2)
    #expect(cluster.finished().isIdle)
    #expect(cluster.scheduler.work.isEmpty)
  }

  @Test func `outcomes on their way into the journal survive a cancel`() throws {
    let job = cluster.answeringLookups { $0.submit(spreadURLs(1...4)) }
    cluster.isJournalHeld = true
    cluster.finish(url(1, host: "host1"))
    cluster.finish(url(2, host: "host2"), .failure(.httpStatus))
    cluster.change(job, .cancel)
    #expect(cluster.endedJobs[job] == nil)
    cluster.deliverJournal()
    let counts = try #require(cluster.endedJobs[job]?.counts)
    #expect(counts.done == 1)
    #expect(counts.failed == 1)
    #expect(counts.cancelled == 2)
  }

  @Test func `the jobs that have not ended are listed newest first`() {
    let jobs = (1...4).map { cluster.submit([url($0)]) }
    cluster.change(jobs[1], .cancel)
    #expect(cluster.scheduler.activeJobs(limit: 9).map(\.job) == [jobs[3], jobs[2], jobs[0]])
    #expect(cluster.scheduler.activeJobs(limit: 2).map(\.job) == [jobs[3], jobs[2]])
    #expect(cluster.scheduler.activeJobs(before: jobs[2], limit: 2).map(\.job) == [jobs[0]])
  }

  @Test func `what was cancelled before its job counts once`() throws {
    var counts = JobCounts(total: 3)
    counts.done = 1
    counts.cancelled = 1
    var record = JobRecord(
      id: JobID(rawValue: 1), options: RequestOptions(variant: .standard), state: .queued,
      counts: counts, submittedAt: WallTime(rawValue: 0))
    try record.apply(.cancel, at: WallTime(rawValue: 5))
    #expect(record.counts.cancelled == 2)
    #expect(record.state == .cancelled)
    #expect(record.finishedAt == WallTime(rawValue: 5))
  }

  @Test func `a cancel while a page is being read leaves nothing behind`() {
    cluster.isJournalHeld = true
    let job = cluster.submit(spreadURLs(1...4))
    cluster.change(job, .cancel)
    cluster.change(job, .cancel)
    cluster.deliverJournal()
    #expect(cluster.endedJobs[job]?.counts.cancelled == 4)
    #expect(cluster.isIdle)
    #expect(cluster.lookupCount == 0)
  }

  @Test func `a cancel after the last outcome comes too late`() {
    let job = cluster.answeringLookups { $0.submit([url(1)]) }
    cluster.isJournalHeld = true
    cluster.finish(url(1))
    cluster.deliverJournal(1)
    cluster.change(job, .cancel)
    cluster.deliverJournal()
    #expect(cluster.endedJobs[job]?.state == .finished)
  }
}

/// U27: a job's states as the scheduler follows them. Which changes are legal is
/// ``JobRecord/apply(_:at:)``'s.
@Suite struct ChangeTests {
  /// A list of ten at one host, of which 1 is done, 2 and 3 run, and the rest waits.
  private func cluster(order: LineOrder = .firstInFirstOut) -> (ClusterModel, JobID) {
    let cluster = ClusterModel.started(perHost: 2)
    let job = cluster.answeringLookups { $0.submit((1...10).map { url($0) }, order: order) }
    cluster.finish(cluster.fetching[0])
    return (cluster, job)
  }

  @Test func `a paused job finishes what runs and starts nothing`() {
    let (cluster, job) = cluster()
    cluster.change(job, .pause)
    #expect(cluster.status(job)?.state == .paused)
    #expect(cluster.status(job)?.running == 2)
    #expect(cluster.status(job)?.queued == 7)
    #expect(cluster.cancelledLeases.isEmpty)
    #expect(!cluster.isIdle)
    #expect(cluster.finished().fetchStarts == (1...3).map { url($0) })
    #expect(cluster.status(job)?.done == 3)
    #expect(cluster.isIdle, "what a person has paused does not keep it up")
  }

  @Test(arguments: [LineOrder.firstInFirstOut, .lastInFirstOut])
  func `a resumed job goes on where it was, and does nothing twice`(order: LineOrder) {
    let (cluster, job) = cluster(order: order)
    cluster.change(job, .pause)
    cluster.finishEverything()
    cluster.change(job, .resume)
    #expect(cluster.status(job)?.state == .running)
    cluster.finishEverything()
    let numbers = order == .firstInFirstOut ? Array(1...10) : (1...10).reversed()
    #expect(cluster.fetchStarts == numbers.map { url($0) })
    #expect(cluster.endedJobs[job]?.counts.done == 10)
  }

  @Test func `a job resumed while its last transfers run does nothing twice`() {
    let (cluster, job) = cluster()
    cluster.change(job, .pause)
    cluster.change(job, .resume)
    #expect(cluster.finished().fetchStarts == (1...10).map { url($0) })
    #expect(cluster.endedJobs[job]?.counts.done == 10)
  }

  @Test func `a paused job holds nothing of its list in memory but what runs`() throws {
    let cluster = ClusterModel.started(perHost: 2)
    let job = cluster.submit((0..<120).map { url($0) } + spreadURLs(200...219))
    cluster.answerLookups()
    #expect(cluster.scheduler.jobs[job]?.deferred.hosts.count == 1)
    cluster.change(job, .pause)
    let paused = try #require(cluster.scheduler.jobs[job])
    #expect(paused.inHand.count == cluster.fetching.count)
    #expect(paused.cursor.lines.isEmpty && paused.cursor.next == 0)
    #expect(paused.deferred.hosts.isEmpty)
    #expect(paused.backlogs.isEmpty)
    cluster.change(job, .resume)
    #expect(cluster.finished().endedJobs[job]?.counts.done == 140)
    #expect(cluster.fetchStarts.count == 140)
  }

  @Test func `look-ups that run when a job is paused lead to no transfer`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit([url(1), url(2)])
    cluster.change(job, .pause)
    cluster.answerLookups()
    #expect(cluster.fetchStarts.isEmpty)
    #expect(cluster.scheduler.work.isEmpty)
    #expect(cluster.status(job)?.queued == 2)
    cluster.change(job, .resume)
    #expect(cluster.finished().endedJobs[job]?.counts.done == 2)
  }

  @Test func `what a worker held for a paused job is not begun again when it dies`() {
    let (cluster, job) = cluster()
    let viewer = cluster.view(url(2))
    cluster.change(job, .pause)
    for worker in cluster.workers.keys { cluster.exit(worker, .crashed("SIGSEGV")) }
    #expect(cluster.lookupCount == 1, "the viewer's URL alone")
    #expect(cluster.finished().answers[viewer]?.failureCode == nil)
    #expect(cluster.status(job)?.done == 1)
    cluster.change(job, .resume)
    #expect(cluster.finished().endedJobs[job]?.counts.done == 10)
  }

  @Test func `a job found paused after a restart waits`() {
    let (cluster, job) = cluster()
    cluster.change(job, .pause)
    cluster.restart()
    #expect(cluster.lookupCount == 0)
    #expect(cluster.status(job)?.state == .paused)
    cluster.change(job, .resume)
    #expect(cluster.finished().endedJobs[job]?.counts.done == 10)
  }

  @Test func `a paused job is cancelled at once`() {
    let (cluster, job) = cluster()
    cluster.change(job, .pause)
    cluster.change(job, .cancel)
    #expect(cluster.endedJobs[job]?.state == .cancelled)
    #expect(cluster.endedJobs[job]?.counts.cancelled == 9)
    #expect(cluster.cancelledLeases.count == 2)
  }

  @Test func `nothing of a job starts while its cancel is not durable`() {
    let (cluster, job) = cluster()
    cluster.isJournalHeld = true
    cluster.change(job, .cancel)
    #expect(cluster.status(job)?.state == .cancelling)
    #expect(cluster.scheduler.changeableRecord(of: job) == nil)
    for url in cluster.fetching { cluster.finish(url, .cancelled) }
    #expect(cluster.lookupCount == 0)
    #expect(cluster.fetching.isEmpty)
    cluster.deliverJournal()
    #expect(cluster.endedJobs[job]?.state == .cancelled)
  }

  @Test(arguments: [ImageJobChange.cancel, .pause])
  func `a job goes on where it was when its change cannot be made durable`(change: ImageJobChange) {
    let (cluster, job) = cluster()
    cluster.isJournalHeld = true
    #expect(cluster.change(job, change))
    cluster.refuseChanges()
    #expect(cluster.status(job)?.state == .running)
    #expect(cluster.scheduler.changeableRecord(of: job)?.state == .queued)
    cluster.isJournalHeld = false
    cluster.deliverJournal()
    #expect(cluster.finished().endedJobs[job]?.state == .finished)
    #expect(cluster.endedJobs[job]?.counts.done == 10)
  }

  @Test func `a job whose last outcome comes while its cancel is refused has finished`() {
    let cluster = ClusterModel.started()
    let job = cluster.answeringLookups { $0.submit([url(1)]) }
    cluster.isJournalHeld = true
    cluster.finish(url(1))
    cluster.change(job, .cancel)
    cluster.refuseChanges()
    cluster.isJournalHeld = false
    cluster.deliverJournal()
    #expect(cluster.endedJobs[job]?.state == .finished)
    #expect(cluster.endedJobs[job]?.counts.done == 1)
  }

  @Test func `a resumption and a priority that cannot be made durable change nothing`() {
    let (cluster, job) = cluster()
    cluster.change(job, .pause)
    cluster.finishEverything()
    cluster.isJournalHeld = true
    cluster.change(job, .resume)
    cluster.refuseChanges()
    cluster.change(job, .setPriority(.veryHigh))
    cluster.refuseChanges()
    cluster.isJournalHeld = false
    cluster.deliverJournal()
    #expect(cluster.status(job)?.state == .paused)
    #expect(cluster.status(job)?.priority == .normal)
    #expect(cluster.fetchStarts == (1...3).map { url($0) })
    cluster.change(job, .resume)
    #expect(cluster.finished().endedJobs[job]?.counts.done == 10)
  }

  @Test func `the retry of a cancelled job does what was cancelled`() {
    let (cluster, job) = cluster()
    cluster.change(job, .cancel)
    for url in cluster.fetching { cluster.finish(url, .cancelled) }
    #expect(cluster.change(job, .retry(includesFinal: false)))
    #expect(cluster.finished().endedJobs[job]?.counts.done == 10)
    #expect(cluster.endedJobs[job]?.state == .finished)
  }

  @Test func `the retry of a finished job does its retryable failures alone`() {
    let cluster = ClusterModel.started()
    let job = cluster.answeringLookups { $0.submit((1...3).map { url($0) }) }
    let passing = Failure(stage: .fetch, code: .timeout, isRetryable: true, detail: "")
    cluster.finish(url(1), .failed(passing))
    cluster.finish(url(2), .failure(.notAnImage, stage: .decode))
    cluster.finish(url(3))
    #expect(cluster.change(job, .retry(includesFinal: false)))
    #expect(cluster.finished().fetchStarts == [1, 2, 3, 1].map { url($0) })
    #expect(cluster.endedJobs[job]?.counts.done == 2)
    #expect(cluster.endedJobs[job]?.counts.failed == 1)
    #expect(!cluster.change(job, .retry(includesFinal: false)), "none may pass by itself")
    #expect(cluster.change(job, .retry(includesFinal: true)))
    #expect(cluster.finished().endedJobs[job]?.counts.done == 3)
  }

  @Test func `a new priority holds for what waits and for what is still in the list`() {
    let cluster = ClusterModel.started(transfers: 1, credits: .few)
    let first = cluster.submit((1...8).map { url($0) })
    cluster.submit((11...13).map { url($0) })
    cluster.change(first, .setPriority(.low))
    #expect(cluster.status(first)?.priority == .low)
    let starts = cluster.startsUntilIdle()
    #expect(starts.suffix(6).allSatisfy { $0 < 10 }, "\(starts)")
  }
}

extension Credits {
  /// So few look-ups that most lines wait in their lists.
  static let few = Credits(lookups: 2, leases: 8, decodeQueueTarget: 8)
}
