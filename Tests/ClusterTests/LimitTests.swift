import ImgWire
import TestCluster
import TestOrigin
import Testing

/// Limits as an origin feels them.
@Suite(.timeLimit(.minutes(5)))
struct LimitTests {
  @Test func `transfers from one host reach their limit and keep it`() throws {
    let cluster = try Cluster(["TRANSFERS_PER_HOST": "3"])
    let origin = try ListOrigin(headerDelay: .milliseconds(10))
    #expect(try cluster.run(origin.pictures(100)).done == 100)
    #expect(origin.origin.totals().peakInFlight == 3)
  }

  @Test func `transfers of the whole cluster reach their limit and keep it`() throws {
    let cluster = try Cluster(["TRANSFERS": "2"])
    let origins = try (0..<2).map { _ in try ListOrigin(headerDelay: .milliseconds(10)) }
    #expect(try cluster.run(origins.flatMap { $0.pictures(50) }).done == 100)
    let peaks = origins.map { $0.origin.totals().peakInFlight }
    #expect(peaks.allSatisfy { $0 <= 2 })
    #expect(peaks.contains(2))
  }

  @Test func `a limit that is lowered and raised while it works holds from then on`() throws {
    let cluster = try Cluster(["TRANSFERS": "6"])
    let origin = try ListOrigin(headerDelay: .milliseconds(25))
    let job = try cluster.submit(origin.pictures(500))
    for limit in [6, 2, 5] {
      #expect(try cluster.imgctl("limits", "--transfers", "\(limit)").exitCode == 0)
      // As many as may still be on their way by the old limit.
      let start = origin.origin.totals().requests + 6
      try #require(origin.origin.waitUntil(seconds: 30) { $0.totals.requests >= start })
      let mark = origin.origin.snapshot.log.count
      let end = start + 60
      try #require(origin.origin.waitUntil(seconds: 30) { $0.totals.requests >= end })
      #expect(origin.origin.snapshot.peakInFlight(from: mark) == limit)
    }
    #expect(try cluster.finished(job).done == 500)
    #expect(origin.origin.totals().peakInFlight == 6)
  }

  @Test func `transfers begin at a host no more often than its rate allows`() throws {
    let cluster = try Cluster(["RATE_PER_HOST": "2/s"])
    let origin = try ListOrigin()
    let begin = ContinuousClock.now
    #expect(try cluster.run(origin.pictures(6)).done == 6)
    let starts = origin.origin.snapshot.starts().map(\.moment)
    #expect(starts.count == 6)
    // Two may begin at once; a delay on the way to the origin only makes the others later.
    for (index, moment) in starts.enumerated() {
      #expect(moment - begin >= .milliseconds(500) * (index - 1), "start \(index)")
    }
  }

  @Test func `what is larger than allowed fails by its limit's code`() throws {
    let cluster = try Cluster(["MAX_BODY": "10000", "MAX_PIXELS": "3000"])
    let origin = try ListOrigin()
    origin.origin.serve("/large", .body(Array(repeating: 0, count: 10_001)))
    let status = try cluster.run([origin.url("/large"), origin.url("/p/1")])
    let failures = try cluster.failures(of: status.job)
    #expect(failures[origin.url("/large")] == Failure.Code.tooLarge.rawValue)
    #expect(failures[origin.url("/p/1")] == Failure.Code.tooManyPixels.rawValue)
  }
}
