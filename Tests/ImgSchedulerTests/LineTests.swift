import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// How lists are read: in order, within bounds, nothing lost and nothing twice.
@Suite(.timeLimit(.minutes(20))) struct LineTests {
  /// Lines read and not taken up, over all cursors of a job.
  private func readCount(_ job: ActiveJob) -> Int {
    job.cursor.lines.count + job.deferred.hosts.values.reduce(0) { $0 + $1.lines.count }
  }

  @Test func `a line that the journal has lost fails, and nothing else of its list`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit(count: 3) { $0 == 1 ? nil : url($0) }
    cluster.finishEverything()
    #expect(cluster.endedJobs[job]?.counts.done == 2)
    #expect(cluster.endedJobs[job]?.counts.failed == 1)
    #expect(cluster.journal.jobs[job]?.outcomes[1]?.outcome == .failed(.damagedList))
  }

  @Test func `without the headers of its job no line is fetched`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit(count: 3, lacksHeaders: true) { url($0) }
    cluster.finishEverything()
    #expect(cluster.endedJobs[job]?.counts.failed == 3)
    #expect(cluster.journal.jobs[job]?.outcomes[0]?.outcome == .failed(.lostHeaders))
    #expect(cluster.fetchStarts == [])
  }

  private func isSlow(_ url: String) -> Bool { url.contains("//slow") }

  /// Ends the fetches of all but the slow hosts until none of those runs.
  private func workOffFastHosts(_ cluster: ClusterModel) {
    repeat {
      cluster.answerLookups()
      if let url = cluster.fetching.first(where: { !isSlow($0) }) { cluster.finish(url) }
    } while cluster.lookupCount > 0 || cluster.fetching.contains { !isSlow($0) }
  }

  @Test(arguments: [LineOrder.firstInFirstOut, .lastInFirstOut])
  func `a long backlog of a slow host holds no later line up`(order: LineOrder) throws {
    let cluster = ClusterModel.started(perHost: 2)
    cluster.areInvariantsChecked = false
    let slow = (0..<2_000).map { url($0, host: "slow") }
    let fast = (0..<150).map { url($0, host: "x\($0 / 15)") }
    let lines = order == .firstInFirstOut ? slow + fast : fast + slow
    let job = cluster.submit(lines, order: order)
    workOffFastHosts(cluster)
    #expect(Set(cluster.fetchStarts) == Set(fast + cluster.fetching))
    #expect(cluster.fetching.count == 2)
    #expect(cluster.counts(job)?.done == 150)
    let active = try #require(cluster.scheduler.jobs[job])
    #expect(active.inHand.count <= 64 + 2)
    #expect(readCount(active) <= 2_048)

    cluster.finishEverything()
    #expect(cluster.fetchStarts.count == lines.count, "nothing twice")
    #expect(cluster.endedJobs[job]?.counts.done == lines.count)
    let slowStarts = cluster.fetchStarts.filter(isSlow)
    #expect(slowStarts == (order == .firstInFirstOut ? slow : slow.reversed()))
    #expect(try #require(cluster.journal.jobs[job]).readLineCount < 5 * lines.count)
  }

  @Test func `lines deferred for a slow host are never lost, whatever happens to it`() {
    let cluster = ClusterModel.started(perHost: 1)
    let lines = (0..<180).map { url($0, host: "slow") } + (0..<20).map { url($0, host: "x\($0)") }
    let job = cluster.submit(lines)
    workOffFastHosts(cluster)
    #expect(cluster.counts(job)?.done == 20)
    for number in 0..<5 { cluster.finish(url(number, host: "slow")) }
    cluster.changeLimits(perHost: 3)
    cluster.change(job, .pause)
    cluster.change(job, .resume)
    for worker in cluster.workers.keys { cluster.exit(worker, .killed("SIGKILL")) }
    cluster.finishEverything()
    #expect(cluster.endedJobs[job]?.counts.done == 200)
  }

  @Test func `many slow hosts at once hold no later line up`() {
    let cluster = ClusterModel.started(transfers: 128, perHost: 1)
    cluster.areInvariantsChecked = false
    let slow = (0..<16 * 90).map { url($0, host: "slow\($0 / 90)") }
    let job = cluster.submit(slow + spreadURLs(1...50))
    workOffFastHosts(cluster)
    #expect(cluster.counts(job)?.done == 50)
    #expect(cluster.fetching.count == 16)
    cluster.finishEverything()
    #expect(cluster.fetchStarts.count == 16 * 90 + 50)
    #expect(cluster.endedJobs[job]?.counts.done == 16 * 90 + 50)
  }

  @Test func `a host whose pictures are all stored is never saturated`() throws {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.areInvariantsChecked = false
    let urls = (0..<1_500).map { url($0) }
    cluster.prestore(urls)
    let job = cluster.submit(urls)
    let active = try #require(cluster.scheduler.jobs[job])
    #expect(active.deferred.hosts.isEmpty)
    cluster.finishEverything()
    #expect(cluster.endedJobs[job]?.counts.fromCache == 1_500)
    #expect(cluster.journal.jobs[job]?.readLineCount == 1_500, "each line is read once")
  }

  @Test func `a list of one URL many times is fetched once and counted each`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit(Array(repeating: url(1), count: 200))
    cluster.finishEverything()
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.endedJobs[job]?.counts.done == 200)
    #expect(cluster.endedJobs[job]?.counts.bytesFetched == 50_000)
  }

  @Test(arguments: [LineOrder.firstInFirstOut, .lastInFirstOut], [1, 3, 100])
  func `a list starts in its order from end to end`(order: LineOrder, hostCount: Int) {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.areInvariantsChecked = false
    let lines = (0..<600).map { url($0, host: "host\($0 % hostCount)") }
    let job = cluster.submit(lines, order: order)
    cluster.finishEverything()
    #expect(cluster.fetchStarts == (order == .firstInFirstOut ? lines : lines.reversed()))
    #expect(cluster.endedJobs[job]?.counts.done == lines.count)
  }

  @Test func `pauses in the middle lose nothing and repeat nothing`() {
    let cluster = ClusterModel.started(transfers: 6, perHost: 2)
    let lines = (0..<150).map { url($0, host: $0 < 90 ? "slow" : "x\($0 % 5)") }
    let job = cluster.submit(lines)
    for round in 0..<20 {
      cluster.answerLookups()
      for url in cluster.fetching.prefix(3) { cluster.finish(url) }
      cluster.change(job, .pause)
      let startCount = cluster.fetchStarts.count
      if round.isMultiple(of: 2) { cluster.finishEverything() }
      #expect(cluster.fetchStarts.count == startCount)
      cluster.change(job, .resume)
    }
    cluster.finishEverything()
    #expect(cluster.fetchStarts.sorted() == lines.sorted())
    #expect(cluster.endedJobs[job]?.counts.done == 150)
  }

  @Test func `many jobs end, and what they have in common is fetched once`() {
    let cluster = ClusterModel.started(workers: 2, transfers: 8, perHost: 3)
    cluster.areInvariantsChecked = false
    let jobs = (0..<40).map { job in
      cluster.submit((0..<40).map { url((job * 13 + $0) % 500, host: "host\($0 % 7)") })
    }
    cluster.finishEverything()
    #expect(Set(cluster.fetchStarts).count == cluster.fetchStarts.count)
    #expect(jobs.allSatisfy { cluster.endedJobs[$0]?.counts.done == 40 })
    #expect(cluster.scheduler.isIdle)
  }
}
