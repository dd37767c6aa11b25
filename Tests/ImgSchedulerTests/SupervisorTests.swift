import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Worker processes are kept alive.
@Suite struct SupervisorTests {
  /// A cluster whose workers become ready only when the test says so.
  private func startingCluster(workers: Int = 1) -> ClusterModel {
    let cluster = ClusterModel(workers: workers)
    cluster.areWorkersReadyAtOnce = false
    cluster.handle(.began)
    return cluster
  }

  private func onlyWorker(_ cluster: ClusterModel) throws -> WorkerID {
    try #require(cluster.workers.keys.first)
  }

  /// Makes the worker ready and lets it prove that it works.
  private func answer(by worker: WorkerID, of cluster: ClusterModel) {
    cluster.ready(worker)
    let viewer = cluster.view(url(1))
    cluster.answerLookups()
    cluster.leave(viewer)
    cluster.finishEverything()
  }

  @Test func `one process is started for each worker number`() {
    let cluster = startingCluster(workers: 3)
    #expect(Set(cluster.workers.values.map(\.number)) == [0, 1, 2])
  }

  @Test func `a worker that had answered is replaced at once under its number`() throws {
    let cluster = startingCluster()
    let first = try onlyWorker(cluster)
    answer(by: first, of: cluster)
    cluster.exit(first, .crashed("SIGSEGV"))
    let second = try onlyWorker(cluster)
    #expect(second != first)
    #expect(cluster.workers[second]?.number == 0)
    #expect(cluster.scheduler.workers.supervisor.children[0].deaths == 1)
  }

  @Test func `pauses grow between failed starts and are short again after a good one`() throws {
    let cluster = startingCluster()
    for pause in [100, 200, 400, 800] {
      cluster.exit(try onlyWorker(cluster), .crashed("exit 1"))
      #expect(cluster.workers.isEmpty)
      #expect(cluster.scheduler.deadline == cluster.now.instant + .milliseconds(pause))
      cluster.advance(by: .milliseconds(pause - 1))
      #expect(cluster.workers.isEmpty)
      cluster.advance(by: .milliseconds(1))
      #expect(cluster.workers.count == 1)
    }
    let ready = try onlyWorker(cluster)
    answer(by: ready, of: cluster)
    #expect(cluster.scheduler.deadline == nil)
    cluster.exit(ready, .crashed("SIGSEGV"))
    cluster.exit(try onlyWorker(cluster), .crashed("exit 1"))
    #expect(cluster.scheduler.deadline == cluster.now.instant + .milliseconds(100))
  }

  @Test func `no pause is longer than five seconds`() {
    #expect(Supervisor.pause(afterFailures: 7) == .seconds(5))
    #expect(Supervisor.pause(afterFailures: 1_000_000) == .seconds(5))
  }

  @Test func `eight failed starts end the cluster once, with the worker's own reason`() throws {
    let cluster = startingCluster()
    for _ in 0..<Supervisor.failedStartsMaximum {
      #expect(cluster.stopReasons.isEmpty)
      let worker = try onlyWorker(cluster)
      cluster.handle(.workerRefused(worker, reason: "no store"))
      cluster.exit(worker, .crashed("exit 1"))
      cluster.advance(by: .seconds(5))
    }
    #expect(cluster.stopReasons == ["no store; the last one exit 1"])
    #expect(cluster.workers.isEmpty)
    #expect(cluster.scheduler.deadline == nil)
  }

  @Test func `workers that refuse at the same time each have their own reason`() {
    let cluster = startingCluster(workers: 2)
    let workers = cluster.workers.keys.sorted()
    for worker in workers { cluster.handle(.workerRefused(worker, reason: "no store")) }
    for worker in workers { cluster.exit(worker, .killed("SIGKILL")) }
    #expect(cluster.scheduler.workers.supervisor.startFailure == "no store")
  }

  @Test func `a worker that dies of whatever it touches first does not die without end`() throws {
    let cluster = startingCluster()
    cluster.view(url(1))
    for _ in 0..<Supervisor.failedStartsMaximum {
      #expect(cluster.stopReasons.isEmpty)
      let worker = try onlyWorker(cluster)
      cluster.ready(worker)
      cluster.exit(worker, .crashed("was killed by signal 7 (SIGBUS)"))
      cluster.advance(by: .seconds(5))
    }
    #expect(cluster.stopReasons.count == 1)
  }

  @Test func `idle workers that are killed from outside are replaced without end, after one pause`()
    throws
  {
    let cluster = startingCluster()
    for _ in 0..<(3 * Supervisor.failedStartsMaximum) {
      let worker = try onlyWorker(cluster)
      cluster.ready(worker)
      cluster.exit(worker, .killed("SIGKILL"))
      #expect(cluster.scheduler.deadline == cluster.now.instant + .milliseconds(100))
      cluster.advance(by: .milliseconds(100))
    }
    #expect(cluster.stopReasons.isEmpty)
    let viewer = cluster.view(url(1))
    cluster.ready(try onlyWorker(cluster))
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
  }

  @Test func `workers that are killed at the first work are replaced after growing pauses`() throws
  {
    let cluster = startingCluster()
    cluster.view(url(1))
    for pause in [100, 200, 400, 800, 1_600, 3_200] + Array(repeating: 5_000, count: 10) {
      let worker = try onlyWorker(cluster)
      cluster.ready(worker)
      #expect(cluster.lookupCount == 1)
      cluster.exit(worker, .killed("SIGKILL"))
      #expect(cluster.workers.isEmpty)
      #expect(cluster.scheduler.deadline == cluster.now.instant + .milliseconds(pause))
      cluster.advance(by: .milliseconds(pause))
    }
    #expect(cluster.stopReasons.isEmpty)
  }

  @Test func `workers that hang at the first work end the cluster like those that crash`() throws {
    let cluster = startingCluster()
    cluster.view(url(1))
    for _ in 0..<Supervisor.failedStartsMaximum {
      #expect(cluster.stopReasons.isEmpty)
      let worker = try onlyWorker(cluster)
      cluster.ready(worker)
      cluster.handle(
        .workerObserved(
          worker,
          Observation(heartbeatAge: .seconds(60))))
      #expect(cluster.killed == [worker])
      cluster.exit(worker, .killed("SIGKILL"))
      cluster.advance(by: .seconds(5))
    }
    #expect(cluster.stopReasons.count == 1)
  }

  @Test func `workers that die of one picture each do not end a cluster that looks nothing up`()
    throws
  {
    let cluster = startingCluster()
    for _ in 0..<(2 * Supervisor.failedStartsMaximum) {
      let worker = try onlyWorker(cluster)
      cluster.ready(worker)
      let viewer = cluster.upload()
      cluster.finish(ClusterModel.uploaded)
      #expect(cluster.deliveries[viewer] == .wanted)
      cluster.exit(worker, .crashed("was killed by signal 11 (SIGSEGV)"))
      cluster.advance(by: .seconds(5))
    }
    #expect(cluster.stopReasons.isEmpty)
  }

  @Test func `a worker that cannot start does not end a cluster that works`() throws {
    let cluster = startingCluster(workers: 2)
    let good = try #require(cluster.workers.values.first { $0.number == 0 }?.id)
    answer(by: good, of: cluster)
    for _ in 0..<20 {
      let bad = try #require(cluster.workers.values.first { $0.number == 1 }?.id)
      cluster.exit(bad, .crashed("exit 1"))
      cluster.advance(by: .seconds(5))
    }
    cluster.exit(good, .crashed("SIGSEGV"))
    let bad = try #require(cluster.workers.values.first { $0.number == 1 }?.id)
    cluster.exit(bad, .crashed("exit 1"))
    #expect(cluster.stopReasons.isEmpty, "the good one is on its way back")
  }

  @Test func `a process that is not ready in time is killed once and counts as failed`() throws {
    let cluster = startingCluster()
    let worker = try onlyWorker(cluster)
    #expect(cluster.scheduler.deadline == cluster.now.instant + Supervisor.startTimeout)
    cluster.advance(by: Supervisor.startTimeout)
    #expect(cluster.killed == [worker])
    #expect(cluster.scheduler.deadline == nil)
    cluster.handle(.timePassed)
    cluster.exit(worker, .killed("SIGKILL"))
    #expect(cluster.scheduler.deadline == cluster.now.instant + .milliseconds(100))
  }

  @Test func `a worker that is ready after its time gets no work`() throws {
    let cluster = startingCluster()
    let worker = try onlyWorker(cluster)
    cluster.advance(by: Supervisor.startTimeout)
    cluster.ready(worker)
    cluster.view(url(1))
    #expect(cluster.lookupCount == 0)
  }

  @Test func `what came before the first worker is begun when it is ready`() throws {
    let cluster = startingCluster()
    let viewer = cluster.view(url(1))
    let job = cluster.submit([url(2)])
    cluster.ready(try onlyWorker(cluster))
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.counts(job)?.done == 1)
  }

  @Test func `the status shows each worker and what it does`() throws {
    let cluster = startingCluster(workers: 2)
    let worker = try #require(cluster.workers.values.first { $0.number == 0 }?.id)
    cluster.ready(worker)
    cluster.submit(spreadURLs(1...3))
    cluster.answerLookups()
    cluster.transferred(url(1, host: "host1"))
    cluster.view(url(9))
    let statuses = cluster.scheduler.workerStatuses { _, worker in
      .init(worker: worker.map { Int32($0.rawValue) })
    }
    #expect(statuses.map(\.state) == [.ready, .starting])
    #expect(statuses[0].lookingUp == 1)
    #expect(statuses[0].fetching == 2)
    #expect(statuses[0].decoding == 1)
    #expect(statuses[0].processID == Int32(worker.rawValue))
  }

  @Test func `the store is kept in order by one worker, and by another when that has gone`() throws
  {
    let cluster = startingCluster(workers: 2)
    #expect(cluster.scheduler.housekeeper == nil)
    let workers = cluster.workers.values.sorted { $0.number < $1.number }.map(\.id)
    cluster.ready(workers[1])
    #expect(cluster.scheduler.housekeeper == workers[1])
    cluster.ready(workers[0])
    #expect(cluster.scheduler.housekeeper == workers[0])
    cluster.exit(workers[0], .crashed("SIGSEGV"))
    #expect(cluster.scheduler.housekeeper == workers[1])
  }
}
