import FoundationEssentials
import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// The ThumbHash of a picture, from its decoder to the reports of imgctl.
@Suite(.timeLimit(.minutes(20)))
struct ThumbHashTests {
  /// The part of an object that is checked here.
  private struct Report: Decodable {
    let kind: String?
    let thumbhash: ThumbHash?
  }

  private let cluster: Cluster
  private let url: String
  private let origin: TestOrigin

  init() throws {
    cluster = try Cluster()
    origin = try TestOrigin()
    origin.serve(
      "/a", .body(try PictureMaker.start().card(index: 1, width: 640, height: 480)))
    url = origin.baseURL + "/a"
  }

  private func reports(_ text: some Sequence<Substring>) throws -> [Report] {
    try text.map { try JSONDecoder().decode(Report.self, from: Data($0.utf8)) }
  }

  @Test func `every size of a picture is stored and listed with one ThumbHash`() throws {
    let job = try cluster.submit([url], "--size", "64", "--size", "256", "--keep", "all")
    #expect(try cluster.finished(job).done == 1)
    let got = try ["64", "256"].map {
      try cluster.imgctl("get", url, "--size", $0, "--json").decoded(Report.self).thumbhash
    }
    let hash = try #require(got[0])
    #expect(got[1] == hash)

    let listed = try reports(cluster.imgctl("cache", "ls", "--json").lines.map { $0[...] })
    #expect(listed.count == 3)
    for report in listed {
      #expect(report.thumbhash == (report.kind == "thumbnail" ? hash : nil), "\(report)")
    }
    let directory = cluster.directory.file("out")
    #expect(try cluster.imgctl("export", "\(job)", directory).exitCode == 0)
    let manifest = try String(contentsOfFile: "\(directory)/manifest.jsonl", encoding: .utf8)
    #expect(try reports(manifest.split(separator: "\n")).map(\.thumbhash) == [hash])
  }

  @Test func `a thumbnail that is not stored comes with its ThumbHash`() throws {
    let stored = try cluster.imgctl("get", url, "--json").decoded(Report.self)
    let uncached = try cluster.imgctl("get", url, "--no-cache", "--json").decoded(Report.self)
    #expect(stored.thumbhash != nil && stored.thumbhash == uncached.thumbhash)
  }

  @Test func `a renewed thumbnail keeps its ThumbHash`() throws {
    let body = try PictureMaker.start().card(index: 2)
    let headers = [Header("Cache-Control", "max-age=0")]
    origin.serve("/b", .resource(Resource(body, entityTag: "\"1\"", headers: headers)))
    let reports = try (0..<2).map { _ in
      try cluster.imgctl(
        "get", origin.baseURL + "/b", "--cache-policy", "protocol", "--json"
      ).decoded(Report.self)
    }
    #expect(reports[0].thumbhash != nil && reports[0].thumbhash == reports[1].thumbhash)
    #expect(origin.counters("/b").requests == 2)
    #expect(origin.counters("/b").bytesSent == body.count)
  }

  @Test func `facts have no ThumbHash, and neither has an original`() throws {
    let facts = try cluster.imgctl("info", url, "--json")
    #expect(facts.exitCode == 0)
    #expect(try facts.decoded(Report.self).thumbhash == nil)
    let job = try cluster.submit([url], "--keep", "original")
    #expect(try cluster.finished(job).done == 1)
    let listed = try reports(cluster.imgctl("cache", "ls", "--json").lines.map { $0[...] })
    #expect(listed.map(\.kind).sorted { ($0 ?? "") < ($1 ?? "") } == ["facts", "original"])
    #expect(listed.allSatisfy { $0.thumbhash == nil })
  }
}
