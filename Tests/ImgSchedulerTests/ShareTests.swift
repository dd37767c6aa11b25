import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Work for a slow host never holds work for others up.
@Suite(.timeLimit(.minutes(20))) struct ShareTests {
  /// Ends every fetch but those of slow hosts, as often as `rounds` says.
  private func workOffFastHosts(_ cluster: ClusterModel, rounds: Int = 50) {
    for _ in 0..<rounds {
      cluster.answerLookups()
      for url in cluster.fetching where !url.contains("//slow") { cluster.finish(url) }
    }
  }

  @Test(arguments: [0, 30, 63, 200])
  func `a slow host holds no later line up, however many jobs are paused`(jobCount: Int) {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.areInvariantsChecked = false
    for _ in 0..<jobCount { cluster.change(cluster.submit([url(0, host: "other")]), .pause) }
    let slow = (0..<200).map { url($0, host: "slow") }
    let job = cluster.submit(slow + spreadURLs(1...10))
    workOffFastHosts(cluster)
    #expect(cluster.counts(job)?.done == 10)
  }

  @Test func `a slow host holds no later line up, beside as many jobs that run`() {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.areInvariantsChecked = false
    for number in 0..<100 {
      cluster.submit((0..<20).map { url($0, host: "slow\(number)") })
    }
    let slow = (0..<200).map { url($0, host: "slow") }
    let job = cluster.submit(slow + spreadURLs(1...10))
    cluster.changeLimits(LimitChange(transfers: 200, transfersPerHost: 1, hostRatePerMinute: 0))
    workOffFastHosts(cluster)
    #expect(cluster.counts(job)?.done == 10)
  }

  @Test(arguments: [20, 50, 80, 200])
  func `many slow hosts hold no later line up`(hostCount: Int) {
    let cluster = ClusterModel.started(
      transfers: 300, perHost: 1, credits: Credits(lookups: 256, leases: 512, decodeQueueTarget: 8))
    cluster.areInvariantsChecked = false
    let slow = (0..<40 * hostCount).map { url($0, host: "slow\($0 % hostCount)") }
    let job = cluster.submit(slow + spreadURLs(1...10))
    workOffFastHosts(cluster)
    #expect(cluster.counts(job)?.done == 10)
  }
}
