import FoundationEssentials
import ImgModel
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// The store as those who ask for pictures see it, row by row.
@Suite(.timeLimit(.minutes(20)))
struct SharedStoreTests {
  private let origin: ListOrigin

  init() throws {
    origin = try ListOrigin()
  }

  private struct Statistics: Decodable {
    let entries: Int
  }

  private func entries(of cluster: Cluster) throws -> Int {
    try cluster.imgctl("cache", "stat", "--json").decoded(Statistics.self).entries
  }

  @Test func `every worker finds the thumbnails of the others, also after a restart`() throws {
    let cluster = try Cluster(["WORKERS": "4"])
    let list = origin.pictures(20)
    #expect(try cluster.run(list).done == 20)
    #expect(try cluster.run(list.reversed()).fromCache == 20)
    #expect(try cluster.imgctl("stop").exitCode == 0)
    try cluster.start()
    #expect(try cluster.run(list).fromCache == 20)
    #expect(origin.origin.totals().requests == 20)
  }

  @Test func `an interrupted transfer stores no thumbnail`() throws {
    let cluster = try Cluster()
    let body = try PictureMaker.start().card(index: 1)
    let part = Delivery.cut(after: body.count * 9 / 10)
    origin.origin.serve("/cut", .body(body, delivery: part))
    #expect(try cluster.run(origin.pictures(1)).done == 1)
    let before = try entries(of: cluster)
    let result = try cluster.imgctl("get", origin.url("/cut"), "--keep", "all")
    #expect(result.exitCode == 1)
    #expect(result.messages.contains("truncated_body"))
    #expect(try entries(of: cluster) == before)
  }

  @Test func `a reset leaves nothing, and the next get fetches again`() throws {
    let cluster = try Cluster()
    let list = origin.pictures(10)
    #expect(try cluster.run(list).done == 10)
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    #expect(try entries(of: cluster) == 0)
    #expect(try cluster.imgctl("get", list[0]).exitCode == 0)
    #expect(origin.origin.totals().requests == 11)
    #expect(try entries(of: cluster) == 1)
  }

  @Test func `twenty concurrent gets of one picture cost one request and one entry`() throws {
    let cluster = try Cluster()
    try origin.hold("/held")
    let runs = try (0..<20).map { _ in try cluster.begin(["get", origin.url("/held")]) }
    try #require(try cluster.waitUntil { $0.viewers == 20 && $0.transfers == 1 })
    origin.origin.release("/held")
    let pictures = try runs.map { try $0.wait().outputBytes }
    #expect(Set(pictures).count == 1)
    #expect(pictures.first?.isEmpty == false)
    #expect(origin.origin.counters("/held").requests == 1)
    #expect(try entries(of: cluster) == 1)
  }
}
