import FoundationEssentials
import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// `--lenient`, from the command line to the store and back.
@Suite(.timeLimit(.minutes(20)))
struct LenientTests {
  private let cluster: Cluster
  private let origin: TestOrigin
  private let picture: [UInt8]
  private let url: String

  init() throws {
    cluster = try Cluster()
    origin = try TestOrigin()
    picture = try PictureMaker.start().scene(width: 640, height: 480, format: .jpeg)
    origin.serve("/a", .body(Array(picture.prefix(picture.count / 2))))
    url = origin.baseURL + "/a"
  }

  /// What `--json` says of a picture, as far as it is checked here.
  private struct Report: Decodable {
    let damaged: Bool?
    let from_cache: Bool?
    let code: Failure.Code?
  }

  private func get(_ options: String...) throws -> Report {
    try cluster.begin(["get", url, "--json"] + options).wait().decoded(Report.self)
  }

  private var requestCount: Int { origin.counters("/a").requests }

  @Test func `a damaged picture fails, unless the request is lenient`() throws {
    #expect(try get().code == .corruptImage)
    let made = try cluster.imgctl("get", url, "--lenient", "--json")
    #expect(made.exitCode == 0)
    #expect(made.messages.contains("the picture is damaged"))
    #expect(try made.decoded(Report.self).damaged == true)
    // From the store.
    #expect(try get("--lenient").from_cache == true)
    #expect(try get("--lenient").damaged == true)
    #expect(requestCount == 2)
    #expect(try get().code == .corruptImage)
    #expect(try get("--cache-policy", "cache-only").code == .notCached)
    let absent = try cluster.imgctl("cache", "get", url)
    #expect(absent.exitCode == 1)
    #expect(absent.messages.contains("the picture is damaged; --lenient accepts that"))
    #expect(try cluster.imgctl("cache", "ls").output.hasPrefix("thumbnail,damaged\tjpeg\t"))
    let stored = try cluster.imgctl("cache", "get", url, "--lenient", "--json")
    #expect(try stored.decoded(Report.self).damaged == true)
  }

  @Test func `the thumbnail of an undamaged picture answers both`() throws {
    #expect(try get("--lenient").damaged == true)
    origin.serve("/a", .body(picture))
    #expect(try get().from_cache == false)
    for options in [[], ["--lenient"]] {
      let found = try cluster.begin(["get", url, "--json"] + options).wait()
      #expect(found.messages.isEmpty)
      let report = try found.decoded(Report.self)
      #expect(report.from_cache == true)
      #expect(report.damaged == nil)
    }
    #expect(requestCount == 2)
  }

  @Test func `a job counts its damaged pictures, and its export marks them`() throws {
    origin.serve("/b", .body(picture))
    let urls = [url, origin.baseURL + "/b"]
    let strict = try cluster.finished(cluster.submit(urls))
    #expect(strict.failed == 1)
    #expect(strict.damaged == 0)
    let job = try cluster.submit(urls, "--lenient")
    let lenient = try cluster.finished(job)
    #expect(lenient.isLenient)
    #expect(lenient.done == 2)
    #expect(lenient.damaged == 1)
    #expect(lenient.fromCache == 1)
    let directory = cluster.directory.file("exported")
    #expect(try cluster.imgctl("export", "\(job)", directory).exitCode == 0)
    let manifest = try #require(FileManager.default.contents(atPath: directory + "/manifest.jsonl"))
    let lines = String(decoding: manifest, as: UTF8.self).split(separator: "\n")
    #expect(lines.map { $0.contains(#""damaged":true"#) } == [true, false])
    let again = try cluster.imgctl("submit", cluster.list(urls), "--lenient", "--wait")
    #expect(again.messages.contains("2 of 2 done, 1 of them damaged, 0 failed, 2 from cache"))
  }

  @Test func `a local file is as lenient as its request`() throws {
    let path = try cluster.directory.write(Array(picture.prefix(picture.count / 2)), to: "a.jpg")
    let refused = try cluster.imgctl("get", path, "--json")
    #expect(try refused.decoded(Report.self).code == .corruptImage)
    let made = try cluster.imgctl("get", path, "--lenient", "--json")
    #expect(try made.decoded(Report.self).damaged == true)
    let put = try cluster.imgctl("cache", "put", url, path, "--lenient")
    #expect(put.messages.contains("of a damaged picture"))
    #expect(try get("--lenient").damaged == true)
    #expect(requestCount == 0)
  }
}
