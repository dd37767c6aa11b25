import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Jobs share the transfers in turn, however long their lists are.
@Suite struct TurnTests {
  /// One place, and a list of 4,000 of which one runs and many wait.
  private func clusterWithLongJob(hostCount: Int) -> (ClusterModel, JobID) {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.areInvariantsChecked = false
    let job = cluster.submit(count: 4_000) { url($0, host: "host\($0 % hostCount)") }
    cluster.answerLookups()
    return (cluster, job)
  }

  private func isOfShort(_ url: String) -> Bool {
    ClusterModel.number(of: url).map { $0 >= 10_000 } ?? false
  }

  private func shortURLs(_ count: Int) -> [String] {
    (0..<count).map { url(10_000 + $0, host: "host0") }
  }

  /// For each of the next transfers, whether it is the short list's.
  private func nextStarts(_ count: Int, of cluster: ClusterModel) -> [Bool] {
    cluster.answerLookups()
    cluster.fetchStarts = []
    while cluster.fetchStarts.count < count, let url = cluster.fetching.first {
      cluster.finish(url)
      cluster.answerLookups()
    }
    return cluster.fetchStarts.map(isOfShort)
  }

  @Test(arguments: [1, 100])
  func `a job of 10 gets every second transfer beside one of 4,000`(hostCount: Int) {
    let (cluster, _) = clusterWithLongJob(hostCount: hostCount)
    _ = nextStarts(30, of: cluster)
    let short = cluster.submit(shortURLs(10))
    let starts = nextStarts(20, of: cluster)
    #expect(starts == (0..<20).map { !$0.isMultiple(of: 2) })
    cluster.finish(cluster.fetching[0])
    #expect(cluster.endedJobs[short]?.counts.done == 10)
  }

  @Test func `three jobs get a third each`() {
    let (cluster, _) = clusterWithLongJob(hostCount: 1)
    cluster.submit(count: 500) { url($0 + 5_000, host: "other") }
    cluster.submit(shortURLs(10))
    let starts = nextStarts(30, of: cluster)
    for third in 0..<10 { #expect(starts[(3 * third)..<(3 * third + 3)].count { $0 } == 1) }
  }

  @Test func `a job of a higher priority gets every transfer until it is done`() {
    let (cluster, _) = clusterWithLongJob(hostCount: 100)
    cluster.submit(shortURLs(10), priority: 1)
    #expect(nextStarts(12, of: cluster) == (0..<12).map { $0 < 10 })
  }

  @Test func `a job that had nothing to fetch for a while has saved nothing up`() {
    let (cluster, _) = clusterWithLongJob(hostCount: 100)
    let short = cluster.submit(shortURLs(11))
    #expect(nextStarts(2, of: cluster) == [false, true])
    cluster.change(short, .pause)
    _ = nextStarts(100, of: cluster)
    cluster.change(short, .resume)
    #expect(nextStarts(10, of: cluster).count { $0 } == 5)
  }

  @Test func `a job that was alone for long does not pay for it later`() {
    let (cluster, long) = clusterWithLongJob(hostCount: 100)
    _ = nextStarts(100, of: cluster)
    cluster.submit(shortURLs(50))
    #expect(nextStarts(10, of: cluster).count { !$0 } == 5)
    #expect(cluster.status(long)?.state == .running)
  }

  @Test func `a job whose priority is raised goes first at once, and lowered goes last`() {
    let (cluster, _) = clusterWithLongJob(hostCount: 100)
    let short = cluster.submit(shortURLs(12))
    #expect(nextStarts(4, of: cluster).count { $0 } == 2)
    cluster.change(short, .prioritise(2))
    #expect(nextStarts(4, of: cluster) == [true, true, true, true])
    cluster.change(short, .prioritise(-2))
    #expect(nextStarts(10, of: cluster).allSatisfy { !$0 })
    cluster.change(short, .prioritise(0))
    #expect(nextStarts(8, of: cluster).count { $0 } == 4)
  }

  @Test func `a job raised among others of its new priority waits its turn there`() {
    let (cluster, _) = clusterWithLongJob(hostCount: 1)
    let short = cluster.submit(shortURLs(30), priority: -1)
    _ = nextStarts(50, of: cluster)
    cluster.change(short, .prioritise(0))
    #expect(nextStarts(10, of: cluster).count { $0 } == 5)
  }
}
