import FoundationEssentials
import ImgModel
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// Transfers that fail, by what the origin saw.
@Suite(.timeLimit(.minutes(20)))
struct RetryTests {
  private let cluster: Cluster
  private let origin: TestOrigin
  private let picture: [UInt8]

  init() throws {
    cluster = try Cluster(["ATTEMPTS": "3", "BACKOFF": "20ms"])
    origin = try TestOrigin()
    picture = try PictureMaker.start().card(index: 1)
  }

  private func submit(_ paths: [String]) throws -> ImageJob {
    try cluster.finished(cluster.submit(paths.map { origin.baseURL + $0 }))
  }

  @Test func `a URL that is busy twice succeeds at the third attempt`() throws {
    origin.serve("/a", .statuses([503, 503, 200], body: picture))
    #expect(try submit(["/a"]).done == 1)
    #expect(origin.counters("/a").requests == 3)
  }

  @Test func `a remembered 404 is requested again by retry --all and cache rm`() throws {
    origin.serve("/a", .status(404))
    let url = origin.baseURL + "/a"
    let job = try cluster.submit([url])
    #expect(try cluster.finished(job).failed == 1)
    // The next one as well, in another size; it says so.
    let get = try cluster.imgctl("get", url, "--size", "32", "--json")
    #expect(get.exitCode == 1)
    #expect(get.output.contains("was not asked again"))
    #expect(try cluster.imgctl("get", url).messages.contains("; --cache-policy reload asks now\n"))
    #expect(origin.counters("/a").requests == 1)

    #expect(try cluster.imgctl("cache", "rm", url).exitCode == 0)
    #expect(try cluster.imgctl("get", url, "--json").exitCode == 1)
    #expect(origin.counters("/a").requests == 2)

    origin.serve("/a", .body(picture))
    #expect(try cluster.imgctl("retry", "\(job)", "--all", "--wait").exitCode == 0)
    #expect(try cluster.status(of: job).done == 1)
  }

  @Test func `a command that waits for a job says why all its lines failed`() throws {
    origin.serve("/text", .body(Array("no picture".utf8)))
    func messages(_ paths: String...) throws -> String {
      let list = try cluster.list(paths.map { origin.baseURL + $0 })
      return try cluster.imgctl("submit", "--wait", list).messages
    }
    let reason = "all failed alike, the first: http_status: the origin answered 404\n"
    #expect(try messages("/a", "/b").contains(reason))
    #expect(!(try messages("/c", "/text").contains("alike")))
  }

  @Test func `cache rm works without a coordinator`() throws {
    let alone = try Cluster(isStarted: false)
    #expect(try alone.imgctl("cache", "rm", "http://example.com/a").exitCode == 0)
  }

  @Test func `a URL that stays busy fails after its attempts with their number`() throws {
    origin.serve("/a", .status(503))
    let job = try cluster.submit([origin.baseURL + "/a"])
    #expect(try cluster.finished(job).failed == 1)
    #expect(origin.counters("/a").requests == 3)
    #expect(try cluster.imgctl("failures", "\(job)").output.contains("the last of 3 attempts"))
  }

  @Test func `Retry-After is obeyed for all pictures of the host`() throws {
    let begin = ContinuousClock.now
    origin.serve("/a", .statuses([429, 200], body: picture, retryAfter: "1"))
    origin.serve("/b", .body(picture))
    let first = try cluster.submit([origin.baseURL + "/a"])
    try #require(origin.waitUntil { $0.totals.requests == 1 && $0.totals.inFlight == 0 })
    try #require(try cluster.waitUntil { $0.transfers == 0 })
    // The same host: it has to wait as well.
    let second = try cluster.submit([origin.baseURL + "/b"])
    #expect(try [first, second].map { try cluster.finished($0).done } == [1, 1])
    let starts = origin.snapshot.starts()
    #expect(starts.map(\.path).sorted() == ["/a", "/a", "/b"])
    #expect(starts.dropFirst().allSatisfy { $0.moment >= begin + .seconds(1) })
  }

  @Test func `a job that waits for a host reports it with the time of the next attempt`() throws {
    origin.serve("/a", .statuses([503, 200], body: picture, retryAfter: "600"))
    let job = try cluster.submit([origin.baseURL + "/a"])
    let wait = try cluster.begin(["wait", "\(job)"])
    // No more than five minutes are obeyed.
    let reason = "waiting: 127.0.0.1 sent Retry-After, next attempt in 4:5"
    #expect(try eventually { try wait.messages().contains(reason) })
    let status = try cluster.status(of: job)
    #expect(status.wait?.kind == .retryAfter)
    #expect(status.wait?.host == "127.0.0.1")
    let cluster = try cluster.status()
    #expect(cluster.waitingHosts == [status.wait].compactMap(\.self))
    #expect(status.wait?.until.map { $0 > status.submissionTime } == true)
  }

  @Test func `a get that waits for a host reports it`() throws {
    origin.serve("/a", .status(503, retryAfter: "600"))
    let get = try cluster.begin(["get", origin.baseURL + "/a"])
    // A person waits for no more than a minute.
    let reason = "waiting: 127.0.0.1 sent Retry-After, next attempt in 0:5"
    #expect(try eventually { try get.messages().contains(reason) })
    #expect(get.isRunning)
  }

  @Test func `a retry probes a host whose circuit breaker is open`() throws {
    let paths = (0..<10).map { "/\($0)" }
    for path in paths { origin.serve(path, .status(503)) }
    let job = try cluster.submit(paths.map { origin.baseURL + $0 })
    #expect(try cluster.finished(job).failed == 10)
    #expect(try cluster.imgctl("failures", "\(job)").output.contains("is down"))
    let count = origin.totals().requests
    // Still busy: one request, and the reason for all.
    #expect(try cluster.imgctl("retry", "\(job)", "--wait").exitCode == 1)
    #expect(origin.totals().requests == count + 1)
    #expect(try cluster.status(of: job).failed == 10)

    for path in paths { origin.serve(path, .body(picture)) }
    let retry = try cluster.imgctl("retry", "\(job)", "--wait")
    #expect(retry.exitCode == 0, "\(retry.messages)")
    #expect(try cluster.status(of: job).done == 10)
    #expect(origin.totals().requests == count + 11)
  }
}
