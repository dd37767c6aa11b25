import ImgModel
import TestCluster
import TestOrigin
import Testing

/// Jobs side by side.
@Suite(.timeLimit(.minutes(20)))
struct SeveralJobsTests {
  @Test func `a job of ten URLs does not wait for a job of five hundred`() throws {
    let cluster = try Cluster.inOrder()
    let origin = try ListOrigin()
    let held = try origin.holdPictures(8)
    let large = try cluster.submit(held.map(origin.url) + origin.pictures(492))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == held.count })
    let paths = (1_000..<1_010).map { "/p/\($0)" }
    let small = try cluster.submit(paths.map(origin.url))
    try #require(try cluster.waitUntilLookedUp())
    origin.release(held)
    #expect(try cluster.finished(small).done == 10)
    #expect(try cluster.finished(large).done == 500)
    // From now on the two take turns; of what is on its way at once, any may arrive first.
    let positions = try paths.map { try #require(origin.origin.startOrder().firstIndex(of: $0)) }
    let last = try #require(positions.max())
    #expect(last < held.count + 2 * paths.count + held.count)
  }

  @Test func `two sizes of one URL in two jobs share one request`() throws {
    let cluster = try Cluster()
    let origin = try ListOrigin()
    try origin.hold("/held")
    let url = origin.url("/held")
    let jobs = try ["32x32", "16x16"].map { try cluster.submit([url], "--size", $0) }
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    try #require(try cluster.waitUntilLookedUp())
    #expect(origin.origin.totals().requests == 1)
    origin.origin.release("/held")
    let ends = try jobs.map { try cluster.finished($0) }
    #expect(ends.map(\.done) == [1, 1])
    #expect(ends.map(\.fromCache) == [0, 0])
    #expect(ends.map(\.bytesFetched).reduce(0, +) == Int64(origin.origin.totals().bytesSent))
    let thumbnails = try ["32x32", "16x16"].map {
      try cluster.imgctl("get", url, "--size", $0).outputBytes
    }
    #expect(!thumbnails.contains([]))
    #expect(thumbnails[0] != thumbnails[1])
    #expect(origin.origin.totals().requests == 1)
  }

  @Test func `all ports of a host share its limit`() throws {
    let cluster = try Cluster(["TRANSFERS_PER_HOST": "3"])
    let origins = try (0..<2).map { _ in try ListOrigin() }
    let held = try origins.map { try $0.holdPictures(3) }
    let job = try cluster.submit(
      zip(origins, held).flatMap { origin, paths in paths.map(origin.url) })
    func underWay() -> Int { origins.map { $0.origin.totals().inFlight }.reduce(0, +) }
    try #require(try eventually { underWay() == 3 })
    try #require(try cluster.waitUntilLookedUp())
    #expect(try cluster.status().transfers == 3)
    #expect(underWay() == 3)
    for (origin, paths) in zip(origins, held) { origin.release(paths) }
    #expect(try cluster.finished(job).done == 6)
  }
}
