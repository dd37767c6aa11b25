import FoundationEssentials
import ImgWire
import TestCluster
import TestOrigin
import Testing

/// The store as people see it: `imgctl cache`, and expiry.
@Suite(.timeLimit(.minutes(5)))
struct CacheTests {
  private let cluster: Cluster
  private let origin: ListOrigin

  init() throws {
    cluster = try Cluster()
    origin = try ListOrigin()
  }

  /// What `imgctl cache stat --json` says, as far as it is checked here.
  private struct Statistics: Decodable {
    let entries: Int
    let expired: Int
  }

  private func statistics() throws -> Statistics {
    try cluster.imgctl("cache", "stat", "--json").decoded(Statistics.self)
  }

  private func waitForExpiry(of count: Int) throws -> Bool {
    try eventually { try statistics().expired == count }
  }

  @Test func `an expired picture is fetched again and replaced`() throws {
    let url = origin.url("/p/1")
    #expect(try cluster.imgctl("get", url, "--expire-after", "2s").exitCode == 0)
    try #require(try waitForExpiry(of: 1))
    let again = try cluster.imgctl("get", url)
    #expect(again.exitCode == 0)
    #expect(origin.origin.counters("/p/1").requests == 2)
    let statistics = try statistics()
    #expect(statistics.entries == 1)
    #expect(statistics.expired == 0)
  }

  @Test func `clean removes what has expired, and only that`() throws {
    let list = try cluster.list(origin.pictures(10))
    #expect(try cluster.imgctl("submit", "--wait", "--expire-after", "1ms", list).exitCode == 0)
    #expect(try cluster.run([origin.url("/p/20")]).done == 1)
    try #require(try waitForExpiry(of: 10))
    let result = try cluster.imgctl("cache", "clean")
    #expect(result.messages == "removed 10 expired thumbnails\n")
    #expect(try statistics().entries == 1)
  }

  @Test func `ls names what is there, rm and reset remove it, all while a job runs`() throws {
    #expect(try cluster.run(origin.pictures(10)).done == 10)
    try origin.hold("/held")
    let job = try cluster.submit([origin.url("/held")])
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })

    let listed = try cluster.imgctl("cache", "ls").lines.compactMap { line in
      line.split(separator: "\t").last.map(String.init)
    }
    #expect(listed.sorted() == origin.pictures(10).sorted())
    #expect(try cluster.imgctl("cache", "ls", "--json").lines.count == 10)

    let removed = try cluster.imgctl("cache", "rm", origin.url("/p/1"), origin.url("/p/99"))
    #expect(removed.messages == "removed 1 thumbnails\n")
    #expect(try statistics().entries == 9)
    #expect(try cluster.imgctl("get", origin.url("/p/1")).exitCode == 0)
    #expect(origin.origin.counters("/p/1").requests == 2)

    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    #expect(try statistics().entries == 0)
    origin.origin.release("/held")
    #expect(try cluster.finished(job).done == 1)
    #expect(try statistics().entries == 1)
  }

  @Test func `a store directory removed while the cluster runs comes back`() throws {
    #expect(try cluster.run(origin.pictures(5)).done == 5)
    try FileManager.default.removeItem(atPath: cluster.storeDirectory)
    let status = try cluster.run(origin.pictures(5))
    #expect(status.done == 5)
    #expect(try cluster.imgctl("get", origin.url("/p/1")).exitCode == 0)
    #expect(try statistics().entries == 5)
  }
}
