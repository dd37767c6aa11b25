import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// The coordinator is asked to leave.
@Suite struct DrainTests {
  @Test func `an idle cluster is drained at once and once`() {
    let cluster = ClusterModel.started(workers: 2)
    cluster.handle(.drainRequested)
    cluster.handle(.drainRequested)
    cluster.handle(.timePassed)
    #expect(cluster.drainedCount == 1)
    #expect(cluster.workers.values.allSatisfy { $0.isDraining })
  }

  @Test func `leases finish and nothing new starts`() {
    let cluster = ClusterModel.started(transfers: 2)
    let job = cluster.submit(spreadURLs(1...5))
    cluster.answerLookups()
    cluster.handle(.drainRequested)
    #expect(cluster.drainedCount == 0)
    cluster.finishEverything()
    #expect(cluster.fetchStarts == spreadURLs(1...2))
    #expect(cluster.counts(job)?.done == 2)
    #expect(cluster.status(job)?.queued == 3)
    #expect(cluster.drainedCount == 1)
  }

  @Test func `waiting viewers get an answer and running ones their picture`() {
    let cluster = ClusterModel.started(transfers: 1)
    let running = cluster.view(url(1))
    let waiting = cluster.view(url(2))
    cluster.answerLookups()
    let url = cluster.fetching[0]
    cluster.handle(.drainRequested)
    let late = cluster.view("http://example.com/late")
    #expect(cluster.answers[late]?.failureCode == .cancelled)
    cluster.finish(url)
    #expect(
      Set([running, waiting].map { cluster.answers[$0]?.failureCode }) == [nil, .cancelled])
    #expect(cluster.answers.count == 3)
    #expect(cluster.drainedCount == 1)
    #expect(cluster.scheduler.work.isEmpty)
  }

  @Test func `outcomes and ends are durable before the cluster is drained`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit([url(1)])
    cluster.answerLookups()
    cluster.handle(.drainRequested)
    cluster.isJournalHeld = true
    cluster.finish(url(1))
    #expect(cluster.drainedCount == 0)
    cluster.deliverJournal(1)
    #expect(cluster.drainedCount == 0, "the job's end is on its way")
    cluster.deliverJournal()
    #expect(cluster.endedJobs[job] != nil)
    #expect(cluster.drainedCount == 1)
  }

  @Test func `a worker that dies is not replaced and what it held stays in the journal`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit([url(1)])
    cluster.answerLookups()
    cluster.handle(.drainRequested)
    for worker in cluster.workers.keys { cluster.exit(worker, .crashed("SIGSEGV")) }
    #expect(cluster.workers.isEmpty)
    #expect(cluster.drainedCount == 1)
    #expect(cluster.status(job)?.queued == 1)
  }

  @Test func `a worker that pauses is not started any more`() throws {
    let cluster = ClusterModel()
    cluster.areWorkersReadyAtOnce = false
    cluster.handle(.began)
    cluster.exit(try #require(cluster.workers.keys.first), .crashed("exit 1"))
    cluster.handle(.drainRequested)
    cluster.advance(by: .seconds(5))
    #expect(cluster.workers.isEmpty)
    #expect(cluster.scheduler.deadline == nil)
  }

  @Test func `a worker that becomes ready meanwhile is told to leave`() throws {
    let cluster = ClusterModel()
    cluster.areWorkersReadyAtOnce = false
    cluster.handle(.began)
    cluster.handle(.drainRequested)
    let worker = try #require(cluster.workers.keys.first)
    cluster.ready(worker)
    #expect(cluster.workers[worker]?.isDraining == true)
  }

  @Test func `a worker that becomes ready while others finish is told once`() throws {
    let cluster = ClusterModel.started(workers: 2)
    cluster.view(url(1))
    cluster.answerLookups()
    cluster.areWorkersReadyAtOnce = false
    let busy = try #require(cluster.fetch(of: url(1))?.worker)
    cluster.exit(try #require(cluster.workers.keys.first { $0 != busy }), .crashed("SIGSEGV"))
    cluster.advance(by: .milliseconds(100))
    cluster.handle(.drainRequested)
    cluster.ready(try #require(cluster.workers.keys.first { $0 != busy }))
    cluster.finish(url(1))
    #expect(cluster.workers.values.allSatisfy { $0.isDraining })
  }

  @Test func `workers that leave as told are no deaths`() {
    let cluster = ClusterModel.started(workers: 2)
    cluster.handle(.drainRequested)
    for worker in cluster.workers.keys { cluster.exit(worker, .left) }
    #expect(cluster.scheduler.workers.supervisor.children.allSatisfy { $0.deaths == 0 })
    #expect(cluster.workers.isEmpty)
  }
}
