import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// When a URL is fetched again whose workers end.
@Suite struct RefetchTests {
  private let cluster = ClusterModel.started()

  private func killAll(_ cluster: ClusterModel) {
    for worker in cluster.workers.keys { cluster.exit(worker, .killed("was killed by SIGKILL")) }
    cluster.advance(by: .milliseconds(100))
    cluster.answerLookups()
  }

  @Test func `a fetch whose worker ends is fetched again at once`() {
    cluster.answeringLookups { $0.view(url(1)) }
    killAll(cluster)
    #expect(cluster.fetchStarts == [url(1), url(1)])
  }

  @Test func `a fetch waits after each further death, for a time whose limit doubles`() throws {
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    killAll(cluster)
    var limit = cluster.scheduler.limits.backoff
    var waits: [Duration] = []
    for _ in 2..<Scheduler.deathMaximum {
      let startCount = cluster.fetchStarts.count
      for worker in cluster.workers.keys { cluster.exit(worker, .killed("was killed by SIGKILL")) }
      let source = try #require(cluster.scheduler.fetches.sources.all.first)
      let wait = try #require(source.retryAt) - cluster.now.instant
      #expect(wait <= limit)
      waits.append(wait)
      cluster.answerLookups()
      #expect(cluster.fetchStarts.count == startCount)
      cluster.advance(by: max(wait, .milliseconds(100)))
      cluster.answerLookups()
      #expect(cluster.fetchStarts.count == startCount + 1)
      limit = min(limit * 2, Backoff.longest)
    }
    #expect(waits.reduce(.zero, +) > .seconds(60))
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `a fetch that too many workers held when they ended has failed`() {
    let viewer = cluster.view(url(1))
    for _ in 0..<Scheduler.deathMaximum {
      #expect(cluster.answers[viewer] == nil)
      cluster.endBackoffs()
      for worker in cluster.workers.keys { cluster.exit(worker, .killed("was killed by SIGKILL")) }
    }
    #expect(cluster.answers[viewer]?.failureCode == .internal)
    #expect(cluster.fetchStarts.count == Scheduler.deathMaximum)
    #expect(cluster.isIdle)
  }

  @Test func `the decode of an original does not wait after a death`() {
    cluster.store.originals[url(1)] = Retention(after: .milliseconds(1))
    cluster.view(url(1))
    for _ in 0..<5 {
      cluster.answerLookups()
      #expect(cluster.fetching == [url(1)])
      killAll(cluster)
    }
    #expect(cluster.fetchStarts.isEmpty)
    #expect(cluster.fetching == [url(1)])
  }
}

/// How many fetches a worker has at once.
@Suite struct FetchWindowTests {
  private static let queueTarget = 8
  private static let maximum = 40

  /// - Parameter queue: bodies that wait after each result, in front of a worker that holds all that
  ///   its window allows.
  private func size(after queue: [Int]) -> Int {
    var window = FetchWindow()
    for count in queue {
      window.end(
        1, of: window.size(upTo: Self.maximum), queueCount: count, queueTarget: Self.queueTarget,
        maximum: Self.maximum)
    }
    return window.size(upTo: Self.maximum)
  }

  @Test func `the window is as large as it may be at first`() {
    #expect(size(after: []) == Self.maximum)
  }

  @Test func `a queue that never empties shortens the window by what is too much of it`() {
    #expect(size(after: [30]) == Self.maximum - 22)
    let turn = Array(repeating: 20, count: Self.maximum)
    #expect(size(after: [Self.queueTarget] + turn) == Self.maximum - 12)
  }

  @Test func `a queue that is short in between is a burst, and leaves the window as it is`() {
    let turn = Array(repeating: 30, count: Self.maximum)
    #expect(
      size(after: [Self.queueTarget] + turn.dropLast(2) + [Self.queueTarget, 30]) == Self.maximum)
  }

  @Test func `a window that has changed stays so for a turn`() {
    #expect(size(after: Array(repeating: 30, count: Self.maximum)) == Self.maximum - 22)
    #expect(size(after: [30] + Array(repeating: 0, count: Self.maximum - 1)) == Self.maximum - 22)
  }

  @Test func `a queue that runs dry doubles the window`() {
    #expect(size(after: [30] + Array(repeating: 0, count: Self.maximum)) == 36)
    #expect(size(after: [30] + Array(repeating: 0, count: Self.maximum + 18)) == Self.maximum)
  }

  @Test func `a new worker holds few bodies before its first result`() {
    let cluster = ClusterModel.started(perHost: 4)
    cluster.answeringLookups { $0.submit((1...200).map { url($0) }) }
    for number in 1...150 where cluster.fetch(of: url(number)) != nil {
      cluster.transferred(url(number))
    }
    #expect(cluster.fetching.count < 2 * Self.queueTarget + 4)
  }

  @Test func `the window is never shorter than what is to wait for the decoder`() {
    #expect(size(after: Array(repeating: 1_000, count: 400)) == Self.queueTarget)
  }

  @Test func `a worker whose decoder lags has few fetches, and one that keeps up has many`() {
    let cluster = ClusterModel.started(perHost: 64)
    cluster.areInvariantsChecked = false
    cluster.answeringLookups { $0.submit((1...500).map { url($0) }) }
    let maximum = cluster.scheduler.transferShare + Self.queueTarget
    func finish(_ count: Int, queueing queueCount: Int) {
      cluster.decodeQueueCount = queueCount
      for _ in 0..<count {
        for url in cluster.fetching { cluster.transferred(url) }
        cluster.finish(cluster.fetching[0])
        cluster.answerLookups()
      }
    }
    finish(80, queueing: maximum - 1)
    #expect(cluster.fetching.count == Self.queueTarget)
    finish(150, queueing: 0)
    #expect(cluster.fetching.count == maximum)
  }

  @Test func `a few pictures of viewers go beyond the window`() {
    let cluster = ClusterModel.started(perHost: 64)
    cluster.areInvariantsChecked = false
    cluster.answeringLookups { $0.submit((1...500).map { url($0) }) }
    cluster.decodeQueueCount = 1_000
    while cluster.fetching.count > Self.queueTarget {
      for url in cluster.fetching { cluster.transferred(url) }
      cluster.finish(cluster.fetching[0])
    }
    cluster.answeringLookups { $0.view(url(900)) }
    #expect(cluster.fetching.contains(url(900)))
    for number in 901...920 { cluster.view(url(number)) }
    cluster.answerLookups()
    #expect(cluster.fetching.count == 2 * Self.queueTarget)
  }
}

/// Workers that live and owe an answer.
@Suite struct OverdueTests {
  enum Owed: String, CaseIterable {
    case lookup, transfer, decode

    /// How long it may take with the default limits.
    var patience: Duration {
      switch self {
      case .lookup: Scheduler.answerGrace
      // A robots.txt may be asked for when its own time is over.
      case .transfer: .seconds(2 * 60) + Scheduler.answerGrace
      // A decode that ends its decoder is tried a second time.
      case .decode: .seconds(2 * 30) + Scheduler.answerGrace
      }
    }
  }

  private func observe(_ cluster: ClusterModel) {
    for worker in cluster.workers.keys {
      cluster.handle(.workerObserved(worker, Observation(heartbeatAge: .zero)))
    }
  }

  private func cluster(owing owed: Owed) -> (ClusterModel, ViewerID) {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1))
    if owed != .lookup { cluster.answerLookups() }
    if owed == .decode { cluster.transferred(url(1)) }
    return (cluster, viewer)
  }

  /// - Parameter count: how often the worker owes it.
  private func owe(_ owed: Owed, times count: Int, _ cluster: ClusterModel) {
    for _ in 0..<count {
      cluster.advance(by: owed.patience)
      observe(cluster)
      #expect(cluster.killed.isEmpty)
      cluster.advance(by: .milliseconds(1))
      observe(cluster)
      observe(cluster)
      #expect(cluster.killed.count == 1)
      for worker in cluster.killed {
        cluster.exit(worker, .killed("SIGKILL"))
      }
      cluster.advance(by: .seconds(5))
      if owed != .lookup { cluster.answerLookups() }
      if owed == .decode, cluster.answers.isEmpty { cluster.transferred(url(1)) }
    }
  }

  @Test(arguments: [Owed.lookup, .decode])
  func `a worker that owes what may wait for the store is killed, without a suspect`(owed: Owed) {
    let (cluster, viewer) = cluster(owing: owed)
    owe(owed, times: Scheduler.lossMaximum + 1, cluster)
    #expect(cluster.answers.isEmpty)
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `a worker that owes a transfer for too long is killed, a few times`() {
    let (cluster, viewer) = cluster(owing: .transfer)
    owe(.transfer, times: Scheduler.lossMaximum - 1, cluster)
    #expect(cluster.answers.isEmpty)
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `a transfer for which workers have to be ended again and again fails`() {
    let (cluster, viewer) = cluster(owing: .transfer)
    owe(.transfer, times: Scheduler.lossMaximum, cluster)
    #expect(cluster.answers[viewer]?.failureCode == .internal)
    #expect(cluster.isIdle)
  }

  @Test func `a fetch beside an overdue one is not a suspect`() {
    let (cluster, _) = cluster(owing: .transfer)
    cluster.advance(by: .seconds(1))
    let other = cluster.answeringLookups { $0.view(url(2, host: "b")) }
    cluster.advance(by: Owed.transfer.patience - .milliseconds(999))
    observe(cluster)
    for worker in cluster.killed { cluster.exit(worker, .killed("SIGKILL")) }
    cluster.answerLookups()
    let losses = [url(1), url(2, host: "b")].map { name in
      cluster.scheduler.fetches.sources.all.first { $0.key.name.text == name }?.lossCount
    }
    #expect(losses == [1, 0])
    #expect(cluster.finished().answers[other] == .fetchedSample)
  }

  @Test func `a worker has as much longer for a transfer as that was held`() {
    let (cluster, viewer) = cluster(owing: .transfer)
    cluster.advance(by: .seconds(100))
    cluster.hold(url(1), for: .seconds(90))
    cluster.advance(by: Owed.transfer.patience - .seconds(10))
    observe(cluster)
    #expect(cluster.killed.isEmpty)
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `each stage has its own time`() {
    let (cluster, viewer) = cluster(owing: .transfer)
    cluster.advance(by: Owed.transfer.patience)
    cluster.transferred(url(1))
    cluster.advance(by: Owed.decode.patience)
    observe(cluster)
    #expect(cluster.killed.isEmpty)
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `a picture in the decoder's queue has the time of those before it too`() {
    let cluster = ClusterModel.started()
    for number in 1...3 { cluster.view(url(number)) }
    cluster.answerLookups()
    for number in 1...3 { cluster.transferred(url(number)) }
    cluster.advance(by: .seconds(3 * 60) + Scheduler.answerGrace)
    observe(cluster)
    #expect(cluster.killed.isEmpty)
    cluster.advance(by: .milliseconds(1))
    observe(cluster)
    #expect(cluster.killed.count == 1)
  }

  @Test func `a picture that others overtake is not owed while the worker ends those`() {
    let cluster = ClusterModel.started()
    for number in 1...3 { cluster.view(url(number)) }
    cluster.answerLookups()
    for number in 1...3 { cluster.transferred(url(number)) }
    for number in [3, 2] {
      cluster.advance(by: .seconds(2 * 60) + Scheduler.answerGrace)
      cluster.finish(url(number))
      observe(cluster)
      #expect(cluster.killed.isEmpty)
    }
    cluster.advance(by: .seconds(60) + Scheduler.answerGrace)
    observe(cluster)
    #expect(cluster.killed.isEmpty)
    cluster.advance(by: .milliseconds(1))
    observe(cluster)
    #expect(cluster.killed.count == 1)
  }

  @Test func `no worker owes an item that waits for a transfer`() {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.answeringLookups { $0.submit([url(1), url(2)]) }
    cluster.advance(by: .seconds(100))
    cluster.finish(url(1))
    cluster.advance(by: .seconds(100))
    observe(cluster)
    #expect(cluster.killed.isEmpty)
    #expect(cluster.fetching == [url(2)])
  }
}

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
    let job = cluster.answeringLookups { $0.submit(spreadURLs(1...5)) }
    cluster.handle(.drainRequested)
    #expect(cluster.drainedCount == 0)
    #expect(cluster.finished().fetchStarts == spreadURLs(1...2))
    #expect(cluster.counts(job)?.done == 2)
    #expect(cluster.status(job)?.queued == 3)
    #expect(cluster.drainedCount == 1)
  }

  @Test func `waiting viewers get an answer and running ones their picture`() {
    let cluster = ClusterModel.started(transfers: 1)
    let running = cluster.view(url(1))
    let waiting = cluster.answeringLookups { $0.view(url(2)) }
    let fetched = cluster.fetching[0]
    cluster.handle(.drainRequested)
    let late = cluster.view("http://example.com/late")
    #expect(cluster.answers[late]?.failureCode == .cancelled)
    cluster.finish(fetched)
    #expect(Set([running, waiting].map { cluster.answers[$0]?.failureCode }) == [nil, .cancelled])
    #expect(cluster.answers.count == 3)
    #expect(cluster.drainedCount == 1)
    #expect(cluster.scheduler.work.isEmpty)
  }

  @Test func `what limits of bandwidth hold is given up, and waits for the next start`() throws {
    let cluster = ClusterModel.started()
    let job = cluster.answeringLookups { $0.submit(spreadURLs(1...2)) }
    let held = spreadURLs(1...1)[0]
    let viewer = cluster.view(held)
    let (worker, fetch) = try #require(cluster.fetch(of: held))
    let time = HeldTransfer(TransferID(startedBy: fetch.lease), for: .seconds(1))
    let updates = WorkerMessage.hostUpdates(HostUpdates(held: [time]))
    cluster.handle(.fromWorker(worker, updates))
    #expect(cluster.workers[worker]?.cancelled.isEmpty == true, "nothing drains")
    cluster.handle(.drainRequested)
    cluster.handle(.fromWorker(worker, updates))
    #expect(cluster.workers[worker]?.cancelled == [fetch.lease])
    #expect(cluster.answers[viewer]?.failureCode == .cancelled)
    cluster.finish(fetch, of: worker, .cancelled)
    #expect(cluster.drainedCount == 0)
    cluster.finish(spreadURLs(2...2)[0])
    #expect(cluster.drainedCount == 1)
    #expect(cluster.status(job)?.queued == 1)
    #expect(cluster.counts(job)?.done == 1)
  }

  @Test func `outcomes and ends are durable before the cluster is drained`() {
    let cluster = ClusterModel.started()
    let job = cluster.answeringLookups { $0.submit([url(1)]) }
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
    let job = cluster.answeringLookups { $0.submit([url(1)]) }
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
    cluster.answeringLookups { $0.view(url(1)) }
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
