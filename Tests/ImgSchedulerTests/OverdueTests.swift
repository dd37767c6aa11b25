import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

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
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
  }

  @Test
  func `a worker that owes a transfer for too long is killed, which is tolerated a few times`() {
    let (cluster, viewer) = cluster(owing: .transfer)
    owe(.transfer, times: Scheduler.lossMaximum - 1, cluster)
    #expect(cluster.answers.isEmpty)
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
  }

  @Test func `a transfer for which workers have to be ended again and again fails`() {
    let (cluster, viewer) = cluster(owing: .transfer)
    owe(.transfer, times: Scheduler.lossMaximum, cluster)
    #expect(cluster.answers[viewer]?.failureCode == .internal)
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `a fetch beside an overdue one is not a suspect`() {
    let (cluster, _) = cluster(owing: .transfer)
    cluster.advance(by: .seconds(1))
    let other = cluster.view(url(2, host: "b"))
    cluster.answerLookups()
    cluster.advance(by: Owed.transfer.patience - .milliseconds(999))
    observe(cluster)
    for worker in cluster.killed { cluster.exit(worker, .killed("SIGKILL")) }
    cluster.answerLookups()
    let losses = [url(1), url(2, host: "b")].map { name in
      cluster.scheduler.sources.all.first { $0.key.name.text == name }?.lossCount
    }
    #expect(losses == [1, 0])
    cluster.finishEverything()
    #expect(cluster.answers[other] == .fetchedSample)
  }

  @Test func `each stage has its own time`() {
    let (cluster, viewer) = cluster(owing: .transfer)
    cluster.advance(by: Owed.transfer.patience)
    cluster.transferred(url(1))
    cluster.advance(by: Owed.decode.patience)
    observe(cluster)
    #expect(cluster.killed.isEmpty)
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
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
    cluster.submit([url(1), url(2)])
    cluster.answerLookups()
    cluster.advance(by: .seconds(100))
    cluster.finish(url(1))
    cluster.advance(by: .seconds(100))
    observe(cluster)
    #expect(cluster.killed.isEmpty)
    #expect(cluster.fetching == [url(2)])
  }
}
