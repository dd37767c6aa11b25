import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgCore

/// Workers that live and owe an answer.
@Suite struct OverdueTests {
  enum Owed: String, CaseIterable {
    case lookup, transfer, decode

    /// How long it may take with the default limits.
    var patience: Duration {
      switch self {
      case .lookup: Scheduler.answerGrace
      // The robots.txt before it, and once more from the beginning after it.
      case .transfer: .seconds(3 * 60) + Scheduler.answerGrace
      case .decode: .seconds(30) + Scheduler.answerGrace
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

  @Test(arguments: Owed.allCases)
  func `who owes an answer for too long is ended, and nobody is blamed`(owed: Owed) {
    let (cluster, viewer) = cluster(owing: owed)
    for _ in 0..<(2 * Scheduler.killMaximum) {
      cluster.advance(by: owed.patience)
      observe(cluster)
      #expect(cluster.killed.isEmpty)
      cluster.advance(by: .milliseconds(1))
      observe(cluster)
      observe(cluster)
      #expect(cluster.killed.count == 1)
      for worker in cluster.killed {
        cluster.exit(worker, .killed("SIGKILL"), decoding: owed == .decode ? url(1) : nil)
      }
      cluster.advance(by: .seconds(5))
      if owed != .lookup { cluster.answerLookups() }
      if owed == .decode { cluster.transferred(url(1)) }
      #expect(cluster.answers.isEmpty)
      guard cluster.giveUpReasons.isEmpty else { break }
    }
    if owed != .lookup { cluster.settle() }
    #expect(owed == .lookup || cluster.answers[viewer] == .fetchedSample)
  }

  @Test func `each stage has its own time`() {
    let (cluster, viewer) = cluster(owing: .transfer)
    cluster.advance(by: Owed.transfer.patience)
    cluster.transferred(url(1))
    cluster.advance(by: Owed.decode.patience)
    observe(cluster)
    #expect(cluster.killed.isEmpty)
    cluster.settle()
    #expect(cluster.answers[viewer] == .fetchedSample)
  }

  @Test func `a picture in the decoder's queue has the time of those before it too`() {
    let cluster = ClusterModel.started()
    for number in 1...3 { cluster.view(url(number)) }
    cluster.answerLookups()
    for number in 1...3 { cluster.transferred(url(number)) }
    cluster.advance(by: .seconds(3 * 30) + Scheduler.answerGrace)
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
      cluster.advance(by: .seconds(2 * 30) + Scheduler.answerGrace)
      cluster.finish(url(number))
      observe(cluster)
      #expect(cluster.killed.isEmpty)
    }
    cluster.advance(by: .seconds(30) + Scheduler.answerGrace)
    observe(cluster)
    #expect(cluster.killed.isEmpty)
    cluster.advance(by: .milliseconds(1))
    observe(cluster)
    #expect(cluster.killed.count == 1)
  }

  @Test func `what waits for a transfer is owed by nobody`() {
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
