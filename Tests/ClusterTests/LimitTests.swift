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
