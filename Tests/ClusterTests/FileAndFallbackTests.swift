import FoundationEssentials
import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// Files that lists name, what `get` takes in place of what it cannot have, and how long it took.
@Suite(.timeLimit(.minutes(20)))
struct FileAndFallbackTests {
  private let cluster: Cluster
  private let origin: TestOrigin
  private let picture: [UInt8]

  init() throws {
    cluster = try Cluster(isStarted: false)
    origin = try TestOrigin()
    picture = try PictureMaker.start().card(index: 1, width: 640, height: 480)
  }

  // MARK: - Files

  @Test func `lists may name only files below the allowed directories`() throws {
    try cluster.start(["--allow-directory", cluster.directory.path])
    let path = try cluster.directory.write(picture, to: "a.jpg")
    origin.serve("/b", .body(picture))
    let lines = ["file://\(path)", origin.baseURL + "/b", "file:///etc/hostname", "file:///a/../b"]
    let job = try cluster.submit(lines)
    let status = try cluster.finished(job)
    #expect([status.done, status.failed] == [2, 2])
    #expect(
      try cluster.failures(of: job)
        == ["file:///etc/hostname": "blocked_path", "file:///a/../b": "invalid_url"])
    let export = try cluster.imgctl("export", "\(job)", cluster.directory.file("out"))
    #expect(export.messages.contains("\nexported 2 thumbnails"), "\(export.messages)")
    // What it holds now counts, not what it held.
    _ = try cluster.directory.write(Array("no picture".utf8), to: "a.jpg")
    let again = try cluster.submit(["file://\(path)"])
    #expect(try cluster.finished(again).failed == 1)
    #expect(try cluster.failures(of: again) == ["file://\(path)": "not_an_image"])
  }

  @Test(arguments: ["--allow-directory", "--ca-file"])
  func `a missing allowed directory is refused at the start`(flag: String) throws {
    let result = try cluster.imgctl("start", flag, "/nonexistent/place")
    #expect(result.exitCode != 0)
    #expect(result.messages.contains("\(flag): /nonexistent/place cannot be"), "\(result.messages)")
  }

  @Test func `cache-only reads no file`() throws {
    try cluster.start(["--allow-directory", cluster.directory.path])
    let path = try cluster.directory.write(picture, to: "a.jpg")
    let list = try cluster.directory.write(Array("file://\(path)\n".utf8), to: "list.txt")
    let result = try cluster.imgctl("submit", "--wait", "--cache-policy", "cache-only", list)
    #expect(result.exitCode == 1)
    #expect(try cluster.imgctl("failures", "1").output.hasPrefix("not_cached"))
  }

  @Test func `files in lists are refused without an allowed directory`() throws {
    try cluster.start()
    let path = try cluster.directory.write(picture, to: "a.jpg")
    let job = try cluster.submit(["file://\(path)"])
    #expect(try cluster.finished(job).failed == 1)
    #expect(try cluster.failures(of: job) == ["file://\(path)": "blocked_path"])
    // A file that get opens itself is its caller's to read.
    #expect(try cluster.imgctl("get", "file://\(path)").exitCode == 0)
  }

  // MARK: - Fallbacks

  private struct Report: Decodable {
    let url: String
    let code: String?
    let timings: [String: Int]?
  }

  @Test func `fallbacks are tried in order until one succeeds`() throws {
    try cluster.start()
    origin.serve("/a", .status(404))
    origin.serve("/b", .body(Array("no picture".utf8)))
    origin.serve("/c", .body(picture))
    let urls = ["/a", "/b", "/c", "/d"].map { origin.baseURL + $0 }
    let result = try cluster.imgctl(
      "get", urls[0], "--fallback", urls[1], "--fallback", urls[2], "--fallback", urls[3],
      "--json")
    #expect(result.exitCode == 0, "\(result.messages)")
    #expect(try result.decoded(Report.self).url == urls[2])
    #expect(result.messages.contains("http_status: the origin answered 404; trying \(urls[1])"))
    #expect(origin.startOrder() == ["/a", "/b", "/c"])
  }

  @Test func `a fallback may be a file or a picture of another origin`() throws {
    try cluster.start()
    let other = try TestOrigin()
    other.serve("/b", .body(picture))
    let arguments = ["--cache-key", "k", "--header", "Authorization: Bearer secret", "--json"]
    let get = ["get", origin.baseURL + "/a", "--fallback", other.baseURL + "/b"] + arguments
    let served = try cluster.begin(get).wait()
    #expect(try served.decoded(Report.self).url == other.baseURL + "/b", "\(served.messages)")
    #expect(other.counters("/b").headersSeen["authorization"] == nil)
    #expect(origin.counters("/a").headersSeen["authorization"] == "Bearer secret")
    #expect(
      try cluster.imgctl("cache", "get", origin.baseURL + "/a", "--cache-key", "k").exitCode == 1)
    let missing = cluster.directory.file("missing.jpg")
    let chain = try cluster.imgctl(
      "get", missing, "--fallback", missing, "--fallback", other.baseURL + "/b", "--json")
    #expect(try chain.decoded(Report.self).url == other.baseURL + "/b", "\(chain.messages)")
  }

  @Test func `if all fallbacks fail, the last failure is reported`() throws {
    try cluster.start()
    origin.serve("/b", .body(Array("no picture".utf8)))
    let result = try cluster.imgctl(
      "get", origin.baseURL + "/a", "--fallback", origin.baseURL + "/b", "--json")
    #expect(result.exitCode == 1)
    let report = try result.decoded(Report.self)
    #expect(report.url == origin.baseURL + "/b")
    #expect(report.code == "not_an_image")
  }

  // MARK: - Timings

  @Test func `get reports the time of each step, and none for a hit`() throws {
    try cluster.start()
    origin.serve("/a", .body(picture))
    origin.serve("/b", .status(403))
    let url = origin.baseURL + "/a"
    func timings(_ arguments: String...) throws -> [String: Int]? {
      try cluster.begin(["get", "--json"] + arguments).wait().decoded(Report.self).timings
    }
    let stored = try #require(try timings(url))
    #expect(Set(stored.keys).isSuperset(of: ["ttfb", "download", "decode", "store"]))
    #expect(stored["tls"] == nil)
    #expect(stored.values.allSatisfy { $0 >= 0 })
    #expect(try timings(url) == nil)
    let uncached = try #require(try timings(url, "--no-cache"))
    #expect(uncached["decode"] != nil && uncached["store"] == nil)
    let failed = try #require(try timings(origin.baseURL + "/b"))
    #expect(failed["ttfb"] != nil && failed["decode"] == nil)
  }
}
