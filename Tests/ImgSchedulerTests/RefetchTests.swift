import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// When a URL is fetched again whose workers end.
@Suite struct RefetchTests {
  private func killAll(_ cluster: ClusterModel) {
    for worker in cluster.workers.keys { cluster.exit(worker, .killed("was killed by SIGKILL")) }
    cluster.advance(by: .milliseconds(100))
    cluster.answerLookups()
  }

  @Test func `a fetch whose worker ends is fetched again at once`() {
    let cluster = ClusterModel.started()
    cluster.view(url(1))
    cluster.answerLookups()
    killAll(cluster)
    #expect(cluster.fetchStarts == [url(1), url(1)])
  }

  @Test func `a fetch waits after each further death, for a time whose limit doubles`() throws {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1))
    cluster.answerLookups()
    killAll(cluster)
    var limit = cluster.scheduler.limits.backoff
    var waits: [Duration] = []
    for _ in 2..<Scheduler.deathMaximum {
      let startCount = cluster.fetchStarts.count
      for worker in cluster.workers.keys { cluster.exit(worker, .killed("was killed by SIGKILL")) }
      let source = try #require(cluster.scheduler.sources.all.first)
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
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
  }

  @Test func `a fetch that too many workers held when they ended has failed`() {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1))
    for _ in 0..<Scheduler.deathMaximum {
      #expect(cluster.answers[viewer] == nil)
      cluster.endBackoffs()
      for worker in cluster.workers.keys { cluster.exit(worker, .killed("was killed by SIGKILL")) }
    }
    #expect(cluster.answers[viewer]?.failureCode == .internal)
    #expect(cluster.fetchStarts.count == Scheduler.deathMaximum)
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `the decode of an original does not wait after a death`() {
    let cluster = ClusterModel.started()
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
    cluster.submit((1...200).map { url($0) })
    cluster.answerLookups()
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
    cluster.submit((1...500).map { url($0) })
    cluster.answerLookups()
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
    cluster.submit((1...500).map { url($0) })
    cluster.answerLookups()
    cluster.decodeQueueCount = 1_000
    while cluster.fetching.count > Self.queueTarget {
      for url in cluster.fetching { cluster.transferred(url) }
      cluster.finish(cluster.fetching[0])
    }
    cluster.view(url(900))
    cluster.answerLookups()
    #expect(cluster.fetching.contains(url(900)))
    for number in 901...920 { cluster.view(url(number)) }
    cluster.answerLookups()
    #expect(cluster.fetching.count == 2 * Self.queueTarget)
  }
}
