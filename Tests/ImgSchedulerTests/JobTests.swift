import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

@Suite struct JobTests {
  @Test func `a list of misses is looked up, fetched, recorded and finished`() throws {
    let cluster = ClusterModel.started()
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
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `hits count as from the cache and are not fetched`() throws {
    let cluster = ClusterModel.started()
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
    let cluster = ClusterModel.started()
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
    let cluster = ClusterModel.started()
    let job = cluster.submit([])
    #expect(cluster.endedJobs[job]?.state == .finished)
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `a job found after a crash goes on behind what it has`() throws {
    let cluster = ClusterModel.started()
    var counts = JobCounts(total: 2_000)
    counts.done = 1_990
    let record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), state: .queued,
      counts: counts, submittedAt: cluster.now.wall, startedAt: cluster.now.wall, lowWater: 1_990)
    cluster.journal.add(record) { url($0) }
    cluster.areInvariantsChecked = false
    cluster.handle(.jobAccepted(record))
    cluster.finishEverything()
    #expect(cluster.fetchStarts == (1_990..<2_000).map { url($0) })
    #expect(cluster.endedJobs[record.id]?.counts.done == 2_000)
  }

  @Test func `a job found after a crash with all its outcomes finishes`() {
    let cluster = ClusterModel.started()
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
    let job = cluster.submit(spreadURLs(1...10))
    cluster.answerLookups()
    cluster.finish(url(1, host: "host1"))
    cluster.change(job, .cancel)

    let record = try #require(cluster.endedJobs[job])
    #expect(record.state == .cancelled)
    #expect(record.counts.done == 1)
    #expect(record.counts.cancelled == 9)
    #expect(cluster.cancelledLeases.count == 2)
    cluster.finishEverything()
    #expect(cluster.scheduler.isIdle)
    #expect(cluster.scheduler.work.isEmpty)
  }

  @Test func `outcomes on their way into the journal survive a cancel`() throws {
    let cluster = ClusterModel.started()
    let job = cluster.submit(spreadURLs(1...4))
    cluster.answerLookups()
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
    let cluster = ClusterModel.started()
    let jobs = (1...4).map { cluster.submit([url($0)]) }
    cluster.change(jobs[1], .cancel)
    let scheduler = cluster.scheduler
    #expect(scheduler.activeJobs(limit: 9).map(\.job) == [jobs[3], jobs[2], jobs[0]])
    #expect(scheduler.activeJobs(limit: 2).map(\.job) == [jobs[3], jobs[2]])
    #expect(scheduler.activeJobs(before: jobs[2], limit: 2).map(\.job) == [jobs[0]])
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
    let cluster = ClusterModel.started()
    cluster.isJournalHeld = true
    let job = cluster.submit(spreadURLs(1...4))
    cluster.change(job, .cancel)
    cluster.change(job, .cancel)
    cluster.deliverJournal()
    #expect(cluster.endedJobs[job]?.counts.cancelled == 4)
    #expect(cluster.scheduler.isIdle)
    #expect(cluster.lookupCount == 0)
  }

  @Test func `a cancel after the last outcome comes too late`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit([url(1)])
    cluster.answerLookups()
    cluster.isJournalHeld = true
    cluster.finish(url(1))
    cluster.deliverJournal(1)
    cluster.change(job, .cancel)
    cluster.deliverJournal()
    #expect(cluster.endedJobs[job]?.state == .finished)
  }
}
