import ImgModel
import ImgWire
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
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    cluster.leave(viewer)
    cluster.finishEverything()
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
      cluster.handle(.fromWorker(worker, .refused(reason: "no store")))
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
    for worker in workers {
      cluster.handle(.fromWorker(worker, .refused(reason: "no store")))
    }
    for worker in workers { cluster.exit(worker, .killed("SIGKILL")) }
    #expect(cluster.scheduler.workers.supervisor.startFailure == "no store")
  }

  @Test func `idle workers killed from outside are replaced without end, after a pause`() throws {
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
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `workers killed at their first work are replaced after growing pauses`() throws {
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

  @Test(arguments: [true, false])
  func `workers that hang or crash at the first work end the cluster`(isHung: Bool) throws {
    let cluster = startingCluster()
    cluster.view(url(1))
    for _ in 0..<Supervisor.failedStartsMaximum {
      #expect(cluster.stopReasons.isEmpty)
      let worker = try onlyWorker(cluster)
      cluster.ready(worker)
      if isHung {
        cluster.handle(.workerObserved(worker, Observation(heartbeatAge: .seconds(60))))
        #expect(cluster.killed == [worker])
      }
      cluster.exit(worker, isHung ? .killed("SIGKILL") : .crashed("SIGBUS"))
      cluster.advance(by: .seconds(5))
    }
    #expect(cluster.stopReasons.count == 1)
  }

  @Test func `workers that die of one picture each do not end a cluster without look-ups`() throws {
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
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
    #expect(cluster.counts(job)?.done == 1)
  }

  @Test func `the status shows each worker and what it does`() throws {
    let cluster = startingCluster(workers: 2)
    let worker = try #require(cluster.workers.values.first { $0.number == 0 }?.id)
    cluster.ready(worker)
    cluster.answeringLookups { $0.submit(spreadURLs(1...3)) }
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

  @Test func `the store is kept in order by one worker, then by another`() throws {
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

@Suite struct WorkerTableTests {
  private let now = Instant.now
  private var workers = WorkerTable(workerCount: 2)

  /// Both workers are ready.
  private mutating func start(
    _ credits: Credits = Credits(lookups: 2, leases: 3, decodeQueueTarget: 1)
  ) {
    for case .spawn(let worker, _) in workers.startAll(at: now) {
      #expect(workers.becameReady(worker, credits: credits) == true)
    }
  }

  private func lease(_ number: UInt64) -> LeaseID { LeaseID(rawValue: number) }
  private let first = WorkerID(rawValue: 1)
  private let second = WorkerID(rawValue: 2)

  @Test mutating func `a worker is ready once, and not after its exit`() {
    #expect(workers.startAll(at: now) == [.spawn(first, number: 0), .spawn(second, number: 1)])
    #expect(workers.isEmpty)
    let credits = Credits(lookups: 1, leases: 1, decodeQueueTarget: 1)
    #expect(workers.becameReady(first, credits: credits) == true)
    #expect(workers.becameReady(first, credits: credits) == false)
    #expect(workers.ids == [first])
    #expect(workers.remove(first)?.id == first)
    #expect(workers.remove(first) == nil)
    #expect(workers[first] == nil)
  }

  @Test mutating func `what a worker's end tells depends on who killed it, and at what`() {
    start()
    #expect(workers[first]?.ending(by: .killed("")) == .killedIdle)
    workers.hold(lease(1), as: .lookup, by: first)
    #expect(workers[first]?.ending(by: .killed("")) == .killedAtWork)
    #expect(workers[first]?.ending(by: .crashed("")) == .failed)
    workers.kill(first, because: .overdue([lease(1)]))
    #expect(workers[first]?.ending(by: .killed("")) == .failed)
    #expect(workers[first]?.overdueLeases == [lease(1)])
  }

  @Test mutating func `a URL goes to its own worker unless that is full or much busier`() throws {
    start(Credits(lookups: 20, leases: 20, decodeQueueTarget: 1))
    let digest = RendezvousHash.digest("http://example.com/1")
    let own = try #require(
      workers.choose(digest: digest, where: { _ in true }, load: \.lookupCount))
    let other = own == first ? second : first
    for number in 1...4 { workers.hold(lease(UInt64(number)), as: .lookup, by: own) }
    #expect(workers.choose(digest: digest, where: \.takesLookups, load: \.lookupCount) == own)
    workers.hold(lease(5), as: .lookup, by: own)
    #expect(workers.choose(digest: digest, where: \.takesLookups, load: \.lookupCount) == other)
    #expect(workers.choose(digest: digest, where: { $0.id == other }, load: { _ in 0 }) == other)
    #expect(workers.choose(digest: digest, where: { _ in false }, load: { _ in 0 }) == nil)
  }

  @Test mutating func `answers after the exit change nothing`() {
    start()
    _ = workers.remove(first)
    workers.answered(first, at: now)
    workers.willEndFetches(1, queueCount: 0, share: 8, of: first)
    #expect(workers.ids == [second])
  }
}

@Suite struct ExitEvidenceTests {
  private let lookup = LeaseID(rawValue: 1)
  private let fetch = LeaseID(rawValue: 2)
  private let other = LeaseID(rawValue: 3)

  private func evidence(
    _ end: WorkerEnd, suspects: Set<LeaseID> = [],
    isStoreSuspect: Bool = false, killReason: ReadyWorker.KillReason? = nil,
    hasRefused: Bool = false
  ) -> ExitEvidence {
    var worker = ReadyWorker(
      id: WorkerID(rawValue: 1), number: 0,
      credits: Credits(lookups: 9, leases: 9, decodeQueueTarget: 1))
    worker.hold(lookup, as: .lookup)
    worker.hold(fetch, as: .transfer)
    worker.hold(other, as: .transfer)
    worker.killReason = killReason
    worker.hasRefused = hasRefused
    return ExitEvidence(
      worker: worker, end: end, suspects: suspects, isStoreSuspect: isStoreSuspect)
  }

  @Test func `of a crash every fetch may be the reason, and no look-up`() {
    let evidence = evidence(.crashed("SIGSEGV"))
    #expect(evidence.part(of: fetch) == .lost)
    #expect(evidence.part(of: other) == .lost)
    #expect(evidence.part(of: lookup) == .none)
  }

  @Test func `a suspect is lost, even when the store is suspected, and others are not`() {
    let evidence = evidence(.killed("SIGKILL"), suspects: [fetch], isStoreSuspect: true)
    #expect(evidence.part(of: fetch) == .lost)
    #expect(evidence.part(of: other) == .none)
  }

  @Test func `a crash in the store with no damage may be due to any fetch`() {
    #expect(evidence(.crashedInStore("SIGBUS")).part(of: fetch) == .lost)
  }

  @Test func `a worker that leaves or is killed from outside only held its fetches`() {
    for end in [WorkerEnd.left, .killed("SIGKILL")] {
      #expect(evidence(end).part(of: fetch) == .held)
    }
  }

  @Test func `a worker that has said why it cannot go on only held its fetches`() {
    #expect(evidence(.crashed("exit 1"), hasRefused: true).part(of: fetch) == .held)
  }

  @Test func `a read that hung concerns its own picture, however the worker ended`() {
    for end in [WorkerEnd.killed("SIGKILL"), .crashed("SIGSEGV")] {
      #expect(evidence(end, killReason: .hungRead(fetch)).part(of: fetch) == .hungRead)
    }
    let evidence = evidence(.killed("SIGKILL"), killReason: .hungRead(fetch))
    #expect(evidence.part(of: other) == .held)
    #expect(evidence.part(of: lookup) == .none)
  }
}
