import FoundationEssentials
import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// Jobs that make several sizes of each picture.
@Suite(.timeLimit(.minutes(20)))
struct SizesTests {
  private let cluster: Cluster
  private let origin: TestOrigin
  private let urls: [String]

  init() throws {
    cluster = try Cluster()
    origin = try TestOrigin()
    let maker = try PictureMaker.start()
    origin.serve("/large", .body(try maker.card(index: 1, width: 640, height: 480)))
    origin.serve("/small", .body(try maker.card(index: 2, width: 80, height: 60)))
    urls = ["/large", "/small"].map { [origin] in origin.baseURL + $0 }
  }

  private var requestCount: Int {
    ["/large", "/small"].map { origin.counters($0).requests }.reduce(0, +)
  }

  @Test func `each size is stored from one request, and exported`() throws {
    let job = try cluster.submit(urls, "--size", "64", "--size", "256", "--size", "400x40")
    #expect(try cluster.finished(job).done == 2)
    #expect(requestCount == 2)
    for (size, width) in [("64", 64), ("256", 256), ("400x40", 53)] {
      let got = try cluster.imgctl(
        "get", urls[0], "--size", size, "--cache-policy", "cache-only", "--json")
      #expect(try got.decoded(Thumbnail.self).width == width)
    }
    let directory = cluster.directory.file("out")
    #expect(try cluster.imgctl("export", "\(job)", directory).exitCode == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    #expect(
      names == [
        "0000000-256x192.jpg", "0000000-53x40.jpg", "0000000-64x48.jpg", "0000001-53x40.jpg",
        "0000001-64x48.jpg", "0000001-80x60.jpg", "manifest.jsonl",
      ])
    let manifest = try String(contentsOfFile: "\(directory)/manifest.jsonl", encoding: .utf8)
    let first = try #require(manifest.split(separator: "\n").first)
    #expect(first.contains(#""file":"0000000-64x48.jpg""#))
    #expect(first.contains(#""file":"0000000-256x192.jpg""#))
  }

  @Test func `a job whose sizes are all stored requests nothing`() throws {
    for fromCache in [0, 2] {
      let job = try cluster.submit(urls, "--size", "64", "--size", "32")
      #expect(try cluster.finished(job).fromCache == fromCache)
    }
    #expect(requestCount == 2)
  }
}
