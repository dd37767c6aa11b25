import ImgModel
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// Pictures whose transfers break off, and those that are long, with the real processes.
@Suite(.timeLimit(.minutes(20)))
struct ResumedDownloadTests {
  private static let cut = 300_000
  private let origin: TestOrigin
  private let picture: [UInt8]

  init() throws {
    origin = try TestOrigin()
    picture = try PictureMaker.start().noise(seed: 1, width: 700, height: 480, format: .png)
  }

  private var url: String { origin.baseURL + "/a" }

  private func resource(_ delivery: Delivery = .whole) -> Behaviour {
    .resource(
      Resource(picture, contentType: "image/png", entityTag: "\"v1\"", delivery: delivery))
  }

  private struct Statistics: Decodable {
    let entries: Int
    let partials: Int
  }

  private func statistics(of cluster: Cluster) throws -> Statistics {
    try cluster.imgctl("cache", "stat", "--json").decoded(Statistics.self)
  }

  @Test func `a job resumes an interrupted download without sending or counting bytes twice`()
    throws
  {
    let cluster = try Cluster(["ATTEMPTS": "3", "BACKOFF": "20ms"])
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), resource()]))
    let status = try cluster.run([url])
    #expect(status.done == 1)
    #expect(status.bytesFetched == Int64(picture.count))
    #expect(origin.counters("/a").ranges == ["bytes=300000-"])
    #expect(origin.counters("/a").bytesSent == picture.count)
    #expect(try statistics(of: cluster).partials == 0)
  }

  @Test func `another worker resumes an interrupted download`() throws {
    let cluster = try Cluster(["WORKERS": "1"])
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), resource()]))
    let job = try cluster.submit([url])
    #expect(try cluster.finished(job).failed == 1)
    let first = try #require(cluster.readyWorkers().first)
    first.signal(9)
    #expect(try first.hasEnded())
    #expect(
      try cluster.waitUntil { status in
        status.workers.contains { $0.state == .ready && $0.processID != first.processID }
      })
    #expect(try statistics(of: cluster).partials == 1)
    #expect(try cluster.imgctl("retry", "\(job)").exitCode == 0)
    #expect(try cluster.finished(job).done == 1)
    #expect(origin.counters("/a").ranges == ["bytes=300000-"])
    #expect(origin.counters("/a").bytesSent == picture.count)
  }

  @Test(arguments: [["rm"], ["reset"]])
  func `a partial body is intact and is removed with its picture`(command: [String]) throws {
    let cluster = try Cluster()
    origin.serve("/a", resource(.cut(after: Self.cut)))
    #expect(try cluster.run([url]).failed == 1)
    #expect(try statistics(of: cluster).partials == 1)
    #expect(try statistics(of: cluster).entries == 0)
    #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
    let arguments = command == ["rm"] ? ["cache", "rm", url] : ["cache", "reset"]
    #expect(try cluster.begin(arguments).wait().exitCode == 0)
    #expect(try statistics(of: cluster).partials == 0)
    #expect(try cluster.run([url]).failed == 1)
    #expect(origin.counters("/a").ranges.isEmpty)
  }

  @Test func `a large body takes little of a worker's memory`() throws {
    let cluster = try Cluster(["WORKERS": "1"])
    let card = try PictureMaker.start().card(index: 1, format: .png)
    let length = 40 << 20
    origin.serve("/short", .body(card))
    // What comes behind its end does not matter to a picture.
    origin.serve("/long", .body(card + [UInt8](repeating: 7, count: length)))
    #expect(try cluster.run([origin.baseURL + "/short"]).done == 1)
    let worker = try #require(cluster.readyWorkers().first).processID
    let before = try #require(peakByteCount(of: worker))
    #expect(try cluster.run([origin.baseURL + "/long"]).done == 1)
    let after = try #require(peakByteCount(of: worker))
    #expect(after - before < length / 2)
  }
}
