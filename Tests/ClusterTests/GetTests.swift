import FoundationEssentials
import ImgDecode
import ImgModel
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// One picture, now: `imgctl get`.
@Suite(.timeLimit(.minutes(20)))
struct GetTests {
  private let cluster: Cluster
  private let origin: ListOrigin

  init() throws {
    cluster = try Cluster.inOrder()
    origin = try ListOrigin()
  }

  /// What `--json` says of a picture, as far as it is checked here.
  private struct Report: Decodable {
    let url: String
    let format: String
    let width: Int
    let height: Int
    let bytes: Int
    let from_cache: Bool
  }

  @Test func `get returns an upright thumbnail of the requested size, then a hit from the map`()
    throws
  {
    let maker = try PictureMaker.start()
    // A camera held on its side: 400 × 300 upright, stored as 300 × 400.
    let card = try maker.card(index: 7, width: 400, height: 300, orientation: 6)
    origin.origin.serve("/card.jpg", .body(card))
    let url = origin.url("/card.jpg")

    let fetched = try cluster.imgctl("get", url, "--size", "256")
    #expect(fetched.exitCode == 0)
    let raster = try PictureReader(runtime: VipsRuntime.start()).raster(of: fetched.outputBytes)
    #expect(raster.width == 256)
    #expect(raster.height == 192)
    let inset = 10
    #expect(raster[inset, inset].isNear(Card.topLeft))
    #expect(raster[255 - inset, inset].isNear(Card.topRight))
    #expect(raster[inset, 191 - inset].isNear(Card.bottomLeft))
    #expect(raster[255 - inset, 191 - inset].isNear(Card.bottomRight))

    #expect(try cluster.imgctl("stop").exitCode == 0)
    origin.origin.stop()
    let again = try cluster.imgctl("get", url, "--size", "256")
    #expect(again.exitCode == 0)
    #expect(again.outputBytes == fetched.outputBytes)
    let report = try cluster.imgctl("get", url, "--size", "256", "--json").decoded(Report.self)
    #expect(report.url == url)
    #expect(report.format == "jpeg")
    #expect([report.width, report.height] == [256, 192])
    #expect(report.bytes == fetched.outputBytes.count)
    #expect(report.from_cache)
    #expect(!FileManager.default.fileExists(atPath: cluster.socketPath))
  }

  @Test func `a failed get reports its code`() throws {
    let missing = try cluster.imgctl("get", origin.url("/missing/1"))
    #expect(missing.exitCode == 1)
    #expect(missing.messages.hasPrefix("imgctl: \(origin.url("/missing/1")): http_status: "))
    #expect(missing.outputBytes.isEmpty)
    let scheme = try cluster.imgctl("get", "ftp://127.0.0.1/a.jpg")
    #expect(scheme.exitCode == 1)
    #expect(scheme.messages.hasPrefix("imgctl: ftp://127.0.0.1/a.jpg: unsupported_scheme: "))
  }

  @Test func `two concurrent gets of one picture share one fetch`() throws {
    try origin.hold("/held")
    let arguments = ["get", origin.url("/held")]
    let runs = [try cluster.begin(arguments), try cluster.begin(arguments)]
    try #require(try cluster.waitUntil { $0.viewers == 2 })
    origin.origin.release("/held")
    let results = try runs.map { try $0.wait() }
    #expect(results.map(\.exitCode) == [0, 0])
    #expect(!results[0].outputBytes.isEmpty)
    #expect(results[0].outputBytes == results[1].outputBytes)
    #expect(origin.origin.counters("/held").requests == 1)
  }

  @Test func `a get runs before an earlier list`() throws {
    for number in 0..<8 { try origin.hold("/held/\(number)") }
    let job = try cluster.submit((0..<8).map { origin.url("/held/\($0)") } + origin.pictures(200))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 8 })
    let run = try cluster.begin(["get", origin.url("/p/500")])
    try #require(try cluster.waitUntil { $0.viewers == 1 && $0.isNothingLookedUp })
    origin.origin.release("/held/0")
    #expect(try run.wait().exitCode == 0)
    #expect(origin.origin.startOrder().firstIndex(of: "/p/500") == 8)
    for number in 1..<8 { origin.origin.release("/held/\(number)") }
    #expect(try cluster.finished(job).done == 208)
  }
}

extension Raster.Pixel {
  /// Whether the colours are equal but for what a lossy encoding changes.
  fileprivate func isNear(_ other: Raster.Pixel) -> Bool {
    let channels = [(red, other.red), (green, other.green), (blue, other.blue)]
    return channels.allSatisfy { abs(Int($0) - Int($1)) <= 32 }
  }
}
