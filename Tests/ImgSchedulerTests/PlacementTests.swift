import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Which worker gets a URL.
@Suite struct PlacementTests {
  /// The number of the worker to which the URL belongs.
  private func owner(of url: String, among workers: some Sequence<Int>) -> Int? {
    let digest = RendezvousHash.digest(url)
    return workers.max {
      RendezvousHash.weight(digest: digest, number: $0)
        < RendezvousHash.weight(digest: digest, number: $1)
    }
  }

  @Test(arguments: [2, 4, 8])
  func `10,000 URLs are shared within a tenth`(workerCount: Int) {
    var shares: [Int: Int] = [:]
    for number in 0..<10_000 {
      if let owner = owner(of: url(number), among: 0..<workerCount) {
        shares[owner, default: 0] += 1
      }
    }
    let even = Double(10_000 / workerCount)
    for worker in 0..<workerCount {
      let share = Double(shares[worker, default: 0])
      #expect(abs(share - even) / even < 0.1, "worker \(worker) has \(share) of \(even)")
    }
  }

  @Test func `a worker that goes moves only its own share`() {
    for number in 0..<2_000 {
      let before = owner(of: url(number), among: 0..<4)
      let after = owner(of: url(number), among: [0, 1, 3])
      #expect(before == 2 || before == after)
    }
  }

  @Test func `a URL goes to its own worker`() throws {
    for number in 1...20 {
      let cluster = ClusterModel.started(workers: 4)
      cluster.view(url(number))
      let worker = try #require(cluster.workers.values.first { !$0.lookups.isEmpty })
      #expect(worker.number == owner(of: url(number), among: 0..<4))
    }
  }

  /// URLs that all belong to worker 0 of 2.
  private func lopsidedURLs(_ count: Int) -> [String] {
    Array((0...).lazy.map { url($0) }.filter { owner(of: $0, among: 0..<2) == 0 }.prefix(count))
  }

  @Test func `an idle worker takes from a busy one`() {
    let cluster = ClusterModel.started(workers: 2, perHost: 64)
    cluster.submit(lopsidedURLs(40))
    cluster.answerLookups()
    let loads = cluster.workers.values.sorted { $0.number < $1.number }.map(\.fetches.count)
    #expect(loads.reduce(0, +) == 40)
    #expect(loads[0] > loads[1])
    #expect(loads[0] - loads[1] <= 6, "\(loads)")
  }

  @Test func `a few URLs stay with their own worker`() {
    let cluster = ClusterModel.started(workers: 2)
    cluster.submit(lopsidedURLs(4))
    cluster.answerLookups()
    let loads = cluster.workers.values.sorted { $0.number < $1.number }.map(\.fetches.count)
    #expect(loads == [4, 0])
  }

  @Test func `credits are used up and never exceeded`() {
    let cluster = ClusterModel.started(
      workers: 2, credits: Credits(lookups: 3, leases: 5, decodeQueueTarget: 8))
    cluster.submit(spreadURLs(1...50))
    #expect(cluster.lookupCount == 6)
    cluster.answerLookups()
    #expect(cluster.fetching.count == 10)
    for url in cluster.fetching { cluster.transferred(url) }
    #expect(cluster.fetching.count == 10, "a picture that waits for the decoder holds a credit")
    cluster.finishEverything()
    #expect(cluster.fetchStarts.count == 50)
  }

  @Test func `URLs of one variant and expiry travel in one frame`() {
    let cluster = ClusterModel()
    cluster.submit(spreadURLs(1...100))
    cluster.handle(.began)
    #expect(cluster.workers.values.flatMap(\.lookups).count == 1)
  }

  @Test func `a batch of long URLs is cut so that each frame is within its limit`() throws {
    let cluster = ClusterModel()
    let padding = String(repeating: "\"", count: 8_000)
    // JSON writes each of these marks as two bytes.
    cluster.submit((1...200).map { "data:,\($0)" + padding })
    cluster.handle(.began)
    let batches = cluster.workers.values.flatMap(\.lookups)
    #expect(batches.count > 1)
    #expect(batches.flatMap(\.items).count == 200)
    for batch in batches {
      let byteCount = batch.items.reduce(0) { $0 + 6 * $1.url.utf8.count + 64 }
      #expect(byteCount < Frame.maximumByteCount)
    }
  }
}
