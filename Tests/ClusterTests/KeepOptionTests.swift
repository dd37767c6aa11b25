import FoundationEssentials
import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// What is kept of a picture, row by row.
@Suite(.timeLimit(.minutes(20)))
struct KeepOptionTests {
  private let cluster: Cluster
  private let origin: TestOrigin
  private let body: [UInt8]
  private let url: String

  init() throws {
    cluster = try Cluster()
    origin = try TestOrigin()
    body = try PictureMaker.start().card(index: 1, width: 640, height: 480)
    origin.serve("/a", .body(body))
    url = origin.baseURL + "/a"
  }

  private var requestCount: Int { origin.counters("/a").requests }

  /// A line of `imgctl cache ls --json`, as far as it is checked here.
  private struct Listed: Decodable, Equatable {
    let kind: String
    let width: Int
    let bytes: Int
  }

  private func listed() throws -> [Listed] {
    try cluster.imgctl("cache", "ls", "--json").decodedLines(Listed.self)
      .sorted { ($0.kind, $0.width) < ($1.kind, $1.width) }
  }

  @Test func `with a kept original, a second size needs no fetch`() throws {
    #expect(try cluster.imgctl("get", url, "--size", "100", "--keep", "all").exitCode == 0)
    let second = try cluster.imgctl("get", url, "--size", "200", "--json")
    #expect(second.exitCode == 0)
    #expect(requestCount == 1)
    #expect(try listed().map(\.kind) == ["original", "thumbnail", "thumbnail"])
  }

  @Test func `each size is an entry of its own`() throws {
    for size in ["100", "300"] {
      #expect(try cluster.imgctl("get", url, "--size", size, "--keep", "all").exitCode == 0)
    }
    let widths = try ["100", "300", "100"].map { size in
      try cluster.imgctl("get", url, "--size", size, "--json").decoded(Thumbnail.self).width
    }
    #expect(widths == [100, 300, 100])
    #expect(requestCount == 1)
  }

  @Test func `a job with --keep original stores and exports only originals`() throws {
    let job = try cluster.submit([url], "--keep", "original")
    #expect(try cluster.finished(job).fromCache == 0)
    let kept = Listed(kind: "original", width: 640, bytes: body.count)
    #expect(try listed() == [kept])
    #expect(try cluster.finished(cluster.submit([url], "--keep", "original")).fromCache == 1)
    let directory = cluster.directory.file("exported")
    #expect(try cluster.imgctl("export", "\(job)", directory).exitCode == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory)
    let file = try #require(names.first { $0 != "manifest.jsonl" })
    #expect(FileManager.default.contents(atPath: "\(directory)/\(file)") == Data(body))
    #expect(requestCount == 1)
  }

  @Test func `a job with --keep none fetches each time`() throws {
    for count in 1...2 {
      #expect(try cluster.finished(cluster.submit([url], "--keep", "none")).done == 1)
      #expect(requestCount == count)
    }
    #expect(try listed().isEmpty)
  }

  @Test func `get refuses --keep original`() throws {
    try cluster.expectRefused("get", url, "--keep", "original", because: "--keep all")
  }
}
