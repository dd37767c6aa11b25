import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem
import ImgWire
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// URLs as people have them, by way of all processes.
@Suite(.timeLimit(.minutes(20))) struct URLTests {
  private let cluster: Cluster
  private let origin = ListOrigin()
  /// Where the origin listens, without a scheme.
  private let place: String

  init() throws {
    cluster = try Cluster.inOrder()
    origin.serve("/a%20b.jpg")
    origin.serve("/%C3%BC.jpg")
    place = String(origin.origin.baseURL.dropFirst("http://".utf8.count))
  }

  private func get(_ url: String, _ options: String...) throws -> JSONValue {
    try cluster.json(["get", url] + options)
  }

  @Test func `spellings of one URL are one picture and reported as requested`() throws {
    let url = origin.url("/a%20b.jpg")
    let written = origin.url("/a b.jpg")
    let first = try get(written)
    #expect([first.url, first.normalized_url] == [.string(written), .string(url)])
    #expect(first.from_cache == false)
    let second = try get(url)
    #expect([second.url, second.normalized_url] == [.string(url), .null])
    #expect(second.from_cache == true)
    let port = origin.origin.port
    let third = try get("<HTTP://１２７。0.0.1:\(port)/a b.jpg#part>")
    #expect(third.normalized_url.string == url)
    #expect(third.from_cache == true)
    #expect(origin.origin.counters("/a%20b.jpg").requests == 1)
    let path = cluster.directory.file("a.jpg")
    #expect(try cluster.imgctl("cache", "get", written, "-o", path).exitCode == 0)
    #expect(try cluster.imgctl("cache", "rm", written).messages == "removed 1 record\n")
  }

  @Test func `a cache key or an ignored parameter does not change the reported URL`() throws {
    let url = origin.url("/p/1?token=7")
    #expect(try get(url, "--cache-key", "photo").url.string == url)
    #expect(try get(url, "--ignore-query", "token").url.string == url)
  }

  @Test func `a line is reported as written, with its normalized URL`() throws {
    let pictures = [
      origin.url("/a%20b.jpg").replacing("http:", with: "HTTP:"), origin.url("/ü.jpg"),
      "<\(origin.url("/p/1"))>",
    ]
    // No TLS is spoken there.
    let lines = pictures + ["\(place)/p/2", "photo.jpg"]
    let job = try cluster.submit(lines)
    #expect(try cluster.finished(job).done == 3)

    let failures = try cluster.imgctl("failures", "\(job)", "--json").decodedLines(JSONValue.self)
    #expect(failures.map(\.url.string) == Array(lines.suffix(2)))
    #expect(failures.map(\.normalized_url.string) == ["https://\(place)/p/2", nil])
    #expect(failures.last?.code == "invalid_url")
    #expect(
      failures.map(\.line.int) == [4, 5]
        && failures.map(\.job.int) == [Int(job.rawValue), Int(job.rawValue)])

    let directory = cluster.directory.file("out")
    let exported = try cluster.imgctl("export", "\(job)", directory)
    #expect(
      exported.exitCode == 0 && exported.messages.contains("\n2 failed: imgctl failures \(job)"))
    let manifest = try Data(contentsOf: URL(filePath: "\(directory)/manifest.jsonl"))
      .split(separator: UInt8(ascii: "\n"))
      .map { try JSONDecoder().decode(JSONValue.self, from: $0) }
    #expect(manifest.map(\.url.string) == lines)
    #expect(
      manifest.map(\.normalized_url.string) == [
        origin.url("/a%20b.jpg"), origin.url("/%C3%BC.jpg"), origin.url("/p/1"),
        "https://\(place)/p/2", nil,
      ])
    #expect(manifest.compactMap(\.file.string).count == 3)
    #expect(manifest.map(\.line.int) == [1, 2, 3, 4, 5])
    let failed = try #require(manifest.last)
    #expect(failed.reason == "invalid_url" && failed.detail.string == failures.last?.detail.string)
    #expect(manifest.compactMap(\.sha256.string).map(\.count) == [64, 64, 64])
    let table = try String(contentsOfFile: directory + "/failures.csv", encoding: .utf8)
    #expect(
      try cluster.imgctl("failures", "\(job)", "--csv").output == table)
    #expect(table.split(separator: "\r\n").map { $0.prefix(4) } == ["inde", "3,4,", "4,5,"])
  }

  @Test func `addresses of this machine are refused without permission`() throws {
    let cluster = try Cluster(["ALLOW_NETWORK": ""])
    let port = origin.origin.port
    let lines =
      origin.pictures(3) + ["http://localhost:\(port)/p/1", "http://[::1]:\(port)/p/1"]
      + ["http://127.1:\(port)/p/1", "http://0.0.0.0:\(port)/p/1"]
      + ["http://１２７.０.０.１:\(port)/p/1"]
    let status = try cluster.run(lines)
    #expect(status.failed == lines.count)
    let codes = Set(try cluster.failures(of: status.job).values)
    #expect(codes == [Failure.Code.blockedAddress.rawValue])
    #expect(origin.origin.totals().connectionsOpened == 0)
  }
}

/// Lists that are none, or hold what are no URLs.
@Suite(.timeLimit(.minutes(20))) struct ListTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster()
  }

  @Test func `an unreadable list is wrong use and creates no job`() throws {
    let directory = cluster.directory
    let link = directory.file("link")
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: directory.file("nowhere"))
    let zeros = try directory.write(Array("http://a/\0b".utf8), to: "zeros")
    let utf16 = try directory.write([0xFF, 0xFE] + Array("h\0t\0t\0p\0".utf8), to: "utf16")
    let cases = [
      directory.file("missing"): "no such file: \"\(directory.file("missing"))\"",
      link: "no such file: \"\(link)\"",
      directory.path: "no picture is in \(directory.path); skipped",
      zeros: "is not a text file",
      utf16: "is UTF-16; save it as UTF-8",
      try directory.write([], to: "empty"): "contains no URL",
      try directory.write(Array("# a\n\n  #b\r\n\t\n".utf8), to: "comments"): "contains no URL",
    ]
    for (path, reason) in cases {
      let result = try cluster.imgctl("submit", path)
      #expect(result.exitCode == 2, "\(path)")
      #expect(result.messages.contains(reason), "\(result.messages)")
      #expect(result.outputBytes.isEmpty)
    }
    #expect(try cluster.client().answer(.jobs()).jobs.isEmpty)
  }

  @Test func `tens of thousands of bad lines are counted exactly, in bounded memory`() throws {
    let count = 40_000
    let path = try cluster.list((0..<count).map { "bad line \($0)" })
    let result = try cluster.imgctl("submit", "--wait", "--json", path)
    #expect(result.exitCode == 1)
    let status = try result.decoded(ImageJob.self)
    #expect(status.total == count)
    #expect(status.failed == count)
    #expect(try cluster.imgctl("failures", "1").lines.count == count)
    let peak = try #require(peakByteCount(of: try cluster.runningCoordinator().processID))
    #expect(peak < 50 << 20)
  }
}
