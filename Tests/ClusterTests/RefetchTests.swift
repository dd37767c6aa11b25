import ImgModel
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// What the deaths of workers cost an origin.
@Suite(.timeLimit(.minutes(20)))
struct RefetchTests {
  @Test func `a killed worker costs little more than its requests in flight`() throws {
    let cluster = try Cluster(["WORKERS": "1"])
    // Large enough that the decoder is slower than the origin.
    let picture = try PictureMaker.start().card(index: 0, width: 800, height: 600, format: .png)
    let origin = try TestOrigin { _, _ in .body(picture) }
    let list = (0..<200).map { "\(origin.baseURL)/\($0)" }
    let job = try cluster.submit(list)
    var killCount = 0
    for requestCount in stride(from: 60, to: 240, by: 60) {
      try #require(origin.waitUntil { $0.totals.requests >= requestCount })
      killCount += try killReadyWorkers(of: cluster)
    }
    #expect(try cluster.finished(job).done == list.count)
    let extraCount = origin.totals().requests - list.count
    #expect(killCount >= 2)
    // Eight may be in flight at a host, and some eight bodies wait for the decoder.
    #expect(extraCount <= killCount * 32)
    print("\(killCount) kills cost \(extraCount) requests for \(list.count) URLs")
  }

  @Test func `a URL whose workers are killed repeatedly is fetched only a few times`() throws {
    let cluster = try Cluster()
    let origin = try ListOrigin()
    let slow = "/slow"
    try origin.hold(slow)
    let list = [origin.url(slow)] + origin.pictures(1_500)
    let job = try cluster.submit(list)
    var roundCount = 0
    for requestCount in stride(from: 100, to: 1_400, by: 60) {
      try #require(origin.origin.waitUntil { $0.totals.requests >= requestCount })
      if try killReadyWorkers(of: cluster) == 2 { roundCount += 1 }
    }
    origin.release([slow])
    #expect(try cluster.finished(job).done == list.count)
    #expect(roundCount > 12)
    let snapshot = origin.origin.snapshot
    // Each wait may be twice as long as the one before; ten would take minutes.
    #expect(snapshot[slow].requests < 10)
    #expect(snapshot.paths.values.allSatisfy { $0.requests < 10 })
    print("\(roundCount) rounds of kills, \(snapshot[slow].requests) requests for \(slow)")
  }

  /// - Returns: how many there were.
  private func killReadyWorkers(of cluster: Cluster) throws -> Int {
    let workers = try cluster.readyWorkers()
    for worker in workers { worker.signal(9) }
    for worker in workers { #expect(try worker.hasEnded()) }
    return workers.count
  }
}
