import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Workers that die, and what they held.
@Suite struct DeathTests {
  private let cluster = ClusterModel.started()

  @Test func `everything a dead worker held is looked up again`() {
    let job = cluster.answeringLookups { $0.submit(spreadURLs(1...4)) }
    cluster.submit([url(5, host: "host5")])
    cluster.transferred(url(2, host: "host2"))
    for worker in cluster.workers.keys { cluster.exit(worker, .crashed("SIGSEGV")) }
    #expect(cluster.fetching.isEmpty)
    #expect(cluster.lookupCount == 5)
    #expect(cluster.scheduler.transferCount == 0)
    #expect(cluster.finished().counts(job)?.done == 4)
    #expect(cluster.isIdle)
  }

  @Test func `a worker whose process is gone gets nothing while its answers arrive`() throws {
    let cluster = ClusterModel.started(workers: 1)
    let job = cluster.submit([url(1), url(2)])
    let worker = try #require(cluster.workers.keys.first)
    cluster.say(.workerExiting(worker))
    cluster.answerLookups()
    #expect(cluster.fetchStarts.isEmpty)
    cluster.submit([url(3)])
    #expect(cluster.lookupCount == 0)
    cluster.exit(worker, .crashed("SIGSEGV"))
    cluster.advance(by: .seconds(1))
    #expect(cluster.finished().counts(job)?.done == 2)
    #expect(cluster.fetchStarts.sorted() == [url(1), url(2), url(3)])
  }

  @Test func `a worker that dies as it becomes ready is assigned nothing`() throws {
    let cluster = ClusterModel(workers: 1)
    cluster.areWorkersReadyAtOnce = false
    cluster.handle(.began)
    let job = cluster.submit([url(1)])
    let worker = try #require(cluster.onlyWorker)
    cluster.say(.workerExiting(worker))
    cluster.ready(worker)
    #expect(cluster.lookupCount == 0)
    cluster.exit(worker, .crashed("SIGSEGV"))
    cluster.areWorkersReadyAtOnce = true
    cluster.advance(by: .seconds(1))
    #expect(cluster.finished().counts(job)?.done == 1)
  }

  @Test func `what it stored without saying so is a hit that does not count as from the cache`() {
    let job = cluster.answeringLookups { $0.submit([url(1), url(2)]) }
    cluster.store(url(1))
    for worker in cluster.workers.keys { cluster.exit(worker, .crashed("SIGSEGV")) }
    #expect(cluster.finished().fetchStarts == [url(1), url(2), url(2)])
    #expect(cluster.counts(job)?.done == 2)
    #expect(cluster.counts(job)?.fromCache == 0)
  }

  @Test func `a hit whose look-up had to be repeated still counts as from the cache`() {
    cluster.prestore([url(1)])
    let job = cluster.submit([url(1)])
    for worker in cluster.workers.keys { cluster.exit(worker, .crashed("SIGSEGV")) }
    cluster.advance(by: .milliseconds(100))
    #expect(cluster.finished().counts(job)?.fromCache == 1)
  }

  @Test func `crashes in the store have it recreated, and no picture is blamed`() {
    let job = cluster.submit(spreadURLs(1...3))
    for _ in 0..<StoreCrashes.crashMaximum {
      #expect(cluster.storeRecreationCount == 0)
      cluster.answerLookups()
      cluster.crash(fetching: url(2, host: "host2"), .crashedInStore("SIGSEGV"))
    }
    #expect(cluster.storeRecreationCount == 1)
    #expect(cluster.scheduler.fetches.sources.all.allSatisfy { $0.lossCount == 0 })
    cluster.endBackoffs()
    #expect(cluster.finished().counts(job)?.done == 3)
  }

  @Test func `crashes in the store that are far apart leave the store as it is`() {
    let viewer = cluster.view(url(1))
    for _ in 0..<5 {
      cluster.answerLookups()
      for worker in cluster.workers.keys { cluster.exit(worker, .crashedInStore("SIGABRT")) }
      cluster.advance(by: StoreCrashes.period + .seconds(1))
    }
    #expect(cluster.storeRecreationCount == 0)
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `crashes in the store that recreating it does not end count as any other`() {
    let viewer = cluster.view(url(1))
    let damaged = StoreCrashes.recreationMaximum * StoreCrashes.crashMaximum
    for _ in 0..<damaged + Scheduler.lossMaximum {
      #expect(cluster.answers[viewer] == nil)
      cluster.endBackoffs()
      for worker in cluster.workers.keys { cluster.exit(worker, .crashedInStore("SIGABRT")) }
    }
    #expect(cluster.storeRecreationCount == StoreCrashes.recreationMaximum)
    #expect(cluster.answers[viewer]?.failureCode == .internal)
  }

  @Test func `a fetch over which workers crash again and again ends as an internal failure`() {
    let viewer = cluster.view(url(1))
    for _ in 0..<Scheduler.lossMaximum {
      #expect(cluster.answers[viewer] == nil)
      cluster.endBackoffs()
      for worker in cluster.workers.keys { cluster.exit(worker, .crashed("SIGABRT")) }
    }
    #expect(cluster.answers[viewer]?.failureCode == .internal)
    #expect(cluster.isIdle)
  }

  /// Its decoders do not start: no picture is to blame.
  @Test func `workers that refuse to go on do not count as losses, and get no more work`() {
    let viewer = cluster.view(url(1))
    for _ in 0..<Scheduler.lossMaximum {
      cluster.endBackoffs()
      for worker in cluster.workers.keys.sorted() {
        cluster.handle(.fromWorker(worker, .refused(reason: "a decoder was killed at its start")))
        #expect(cluster.scheduler.workers[worker]?.takesLookups == false)
        cluster.exit(worker, .crashed("exit 1"))
      }
    }
    #expect(cluster.scheduler.fetches.sources.all.allSatisfy { $0.lossCount == 0 })
    cluster.endBackoffs()
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `late answers of a dead worker are dropped and counted`() throws {
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.exit(worker, .crashed("SIGSEGV"))
    let result = FetchResults.Result(lease: fetch.lease, outcome: .failure(.timeout))
    cluster.handle(.fromWorker(worker, .transferred([fetch.lease])))
    cluster.handle(.fromWorker(worker, .finished(FetchResults(results: [result]))))
    let miss = LookupResults(hits: [], originals: [], misses: [fetch.lease])
    cluster.handle(.fromWorker(worker, .lookedUp(miss)))
    #expect(cluster.scheduler.lateAnswerCount == 2)
    #expect(cluster.answers[viewer] == nil)
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `a worker that says twice that it is ready keeps its leases`() throws {
    let viewer = cluster.view(url(1))
    let worker = try #require(cluster.workers.keys.first)
    cluster.handle(.fromWorker(worker, .ready(cluster.credits)))
    cluster.exit(worker, .crashed("SIGSEGV"))
    cluster.advance(by: .milliseconds(100))
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `an aborted picture is not begun again when its worker dies`() {
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    cluster.leave(viewer)
    cluster.crash(fetching: url(1))
    #expect(cluster.lookupCount == 0)
    #expect(cluster.isIdle)
  }
}

/// The watchdog.
@Suite struct WatchdogTests {
  private let cluster = ClusterModel.started()

  private func observe(
    _ cluster: ClusterModel, _ url: String, readingFor time: Duration,
    heartbeatAge: Duration = .zero
  ) throws {
    let (worker, fetch) = try #require(cluster.fetch(of: url))
    cluster.handle(
      .workerObserved(
        worker,
        Observation(
          heartbeatAge: heartbeatAge, readingLease: fetch.lease, readingTime: time)))
  }

  @Test func `a picture whose file cannot be read in time fails by timeout, and no other`() throws {
    let job = cluster.submit(spreadURLs(1...3))
    let slow = url(2, host: "host2")
    cluster.answerLookups()
    try observe(cluster, slow, readingFor: .seconds(30))
    #expect(cluster.killed.isEmpty)
    try observe(cluster, slow, readingFor: .seconds(31))
    try observe(cluster, slow, readingFor: .seconds(32))
    #expect(cluster.killed.count == 1)
    cluster.crash(fetching: slow, .killed("SIGKILL"))
    #expect(cluster.finished().counts(job)?.done == 2)
    guard case .failed(let failure, _) = cluster.outcome(of: 1, job) else {
      Issue.record("\(String(describing: cluster.outcome(of: 1, job)))")
      return
    }
    #expect(failure.code == .timeout)
    #expect(failure.stage == .fetch)
    #expect(failure.isRetryable)
  }

  @Test func `all variants of a picture whose file cannot be read fail with it`() throws {
    let cluster = ClusterModel.started(
      workers: 1, credits: Credits(lookups: 8, leases: 1, decodeQueueTarget: 8))
    let viewers = [Variant.small, .medium].map { cluster.view(url(1), variant: $0) }
    let bystander = cluster.answeringLookups { $0.view(url(2)) }
    try observe(cluster, url(1), readingFor: .seconds(31))
    cluster.crash(fetching: url(1), .killed("SIGKILL"))
    #expect(viewers.map { cluster.answers[$0]?.failureCode } == [.timeout, .timeout])
    #expect(cluster.finished().answers[bystander] == .fetchedSample)
    #expect(cluster.isIdle)
  }

  @Test func `a read that ends between verdict and kill fails only its own picture`() throws {
    let first = cluster.view(url(1))
    let second = cluster.answeringLookups { $0.view(url(2)) }
    try observe(cluster, url(1), readingFor: .seconds(31))
    cluster.finish(url(1))
    cluster.crash(fetching: url(2), .killed("SIGKILL"))
    #expect(cluster.answers[first] == .fetchedSample)
    #expect(cluster.scheduler.fetches.sources.all.allSatisfy { $0.lossCount == 0 })
    #expect(cluster.finished().answers[second] == .fetchedSample)
  }

  @Test func `a silent heartbeat ends the worker, and no picture is suspected`() throws {
    let viewer = cluster.view(url(1))
    for _ in 1..<Scheduler.deathMaximum {
      cluster.endBackoffs()
      try observe(cluster, url(1), readingFor: .seconds(31), heartbeatAge: .seconds(11))
      #expect(cluster.killed.count == 1)
      cluster.crash(fetching: url(1), .killed("SIGKILL"))
    }
    #expect(cluster.scheduler.fetches.sources.all.allSatisfy { $0.lossCount == 0 })
    cluster.endBackoffs()
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `a transfer in which the loops of three workers hang has failed alone`() throws {
    let job = cluster.submit(spreadURLs(1...3))
    let hostile = url(2, host: "host2")
    for _ in 0..<Scheduler.lossMaximum {
      cluster.endBackoffs()
      try observe(cluster, hostile, readingFor: .zero, heartbeatAge: .seconds(11))
      let worker = try #require(cluster.onlyWorker)
      cluster.exit(worker, .killed("SIGKILL"), transferring: hostile)
    }
    #expect(cluster.outcome(of: 1, job)?.failureCode == .internal)
    cluster.endBackoffs()
    #expect(cluster.finished().counts(job)?.done == 2)
  }

  @Test func `a worker that is killed from outside does not count against its transfer`() throws {
    let viewer = cluster.view(url(1))
    for _ in 0..<Scheduler.lossMaximum {
      cluster.endBackoffs()
      let worker = try #require(cluster.onlyWorker)
      cluster.exit(worker, .killed("SIGKILL"), transferring: url(1))
    }
    cluster.endBackoffs()
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `a worker told to end gets no more work`() throws {
    cluster.answeringLookups { $0.view(url(1)) }
    try observe(cluster, url(1), readingFor: .zero, heartbeatAge: .seconds(11))
    cluster.view(url(2))
    #expect(cluster.lookupCount == 0)
  }

  @Test func `a busy worker with a heartbeat lives`() throws {
    cluster.answeringLookups { $0.view(url(1)) }
    try observe(cluster, url(1), readingFor: .seconds(29), heartbeatAge: .seconds(10))
    #expect(cluster.killed.isEmpty)
  }
}
