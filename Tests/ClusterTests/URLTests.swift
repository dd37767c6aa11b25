import FoundationEssentials
import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// URLs as people have them, by way of all processes.
@Suite(.timeLimit(.minutes(20)))
struct URLTests {
  private let cluster: Cluster
  private let origin: ListOrigin
  /// Where the origin listens, without a scheme.
  private let place: String

  init() throws {
    cluster = try Cluster.inOrder()
    origin = try ListOrigin()
    try origin.serve("/a%20b.jpg")
    try origin.serve("/%C3%BC.jpg")
    place = String(origin.origin.baseURL.dropFirst("http://".utf8.count))
  }

  private struct Report: Decodable {
    let url: String
    let normalized_url: String?
    let from_cache: Bool?
    let code: String?
    let file: String?
  }

  private func get(_ url: String, _ options: String...) throws -> Report {
    try cluster.begin(["get", url, "--json"] + options).wait().decoded(Report.self)
  }

  @Test func `spellings of one URL are one picture and reported as requested`()
    throws
  {
    let url = origin.url("/a%20b.jpg")
    let written = origin.url("/a b.jpg")
    let first = try get(written)
    #expect([first.url, first.normalized_url] == [written, url])
    #expect(first.from_cache == false)
    let second = try get(url)
    #expect([second.url, second.normalized_url] == [url, nil])
    #expect(second.from_cache == true)
    let port = origin.origin.port
    let third = try get("<HTTP://１２７。0.0.1:\(port)/a b.jpg#part>")
    #expect(third.normalized_url == url)
    #expect(third.from_cache == true)
    #expect(origin.origin.counters("/a%20b.jpg").requests == 1)
    let path = cluster.directory.file("a.jpg")
    #expect(try cluster.imgctl("cache", "get", written, "-o", path).exitCode == 0)
    #expect(try cluster.imgctl("cache", "rm", written).messages == "removed 1 thumbnail\n")
  }

  @Test func `a cache key or an ignored parameter does not change the reported URL`() throws {
    let url = origin.url("/p/1?token=7")
    #expect(try get(url, "--cache-key", "photo").url == url)
    #expect(try get(url, "--ignore-query", "token").url == url)
  }

  @Test func `a line is reported as written, with its normalized URL`()
    throws
  {
    let pictures = [origin.url("/a b.jpg"), origin.url("/ü.jpg"), "<\(origin.url("/p/1"))>"]
    // No TLS is spoken there.
    let lines = pictures + ["\(place)/p/2", "photo.jpg"]
    let job = try cluster.submit(lines)
    #expect(try cluster.finished(job).done == 3)

    let failures = try cluster.imgctl("failures", "\(job)", "--json").decodedLines(Report.self)
    #expect(failures.map(\.url) == Array(lines.suffix(2)))
    #expect(failures.map(\.normalized_url) == ["https://\(place)/p/2", nil])
    #expect(failures.last?.code == "invalid_url")

    let directory = cluster.directory.file("out")
    #expect(try cluster.imgctl("export", "\(job)", directory).exitCode == 1)
    let manifest = try Data(contentsOf: URL(filePath: "\(directory)/manifest.jsonl"))
      .split(separator: UInt8(ascii: "\n"))
      .map { try JSONDecoder().decode(Report.self, from: $0) }
    #expect(manifest.map(\.url) == lines)
    #expect(
      manifest.map(\.normalized_url) == [
        origin.url("/a%20b.jpg"), origin.url("/%C3%BC.jpg"), origin.url("/p/1"),
        "https://\(place)/p/2", nil,
      ])
    #expect(manifest.compactMap(\.file).count == 3)
  }

  @Test func `a file takes precedence over a host of its name`() throws {
    let missing = try cluster.imgctl("get", "photo.jpg")
    #expect(missing.exitCode == 2)
    #expect(missing.messages.contains("no such file: \"photo.jpg\""))
    let host = try cluster.imgctl("get", "\(place)/p/1", "--json")
    #expect(host.exitCode == 1)
    #expect(try host.decoded(Report.self).normalized_url == "https://\(place)/p/1")
  }
}
