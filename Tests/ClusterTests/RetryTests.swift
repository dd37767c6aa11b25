import FoundationEssentials
import ImgModel
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// Transfers that fail, by what the origin saw.
@Suite(.timeLimit(.minutes(20))) struct RetryTests {
  private let cluster: Cluster
  private let origin = TestOrigin()
  private let picture: [UInt8]

  init() throws {
    cluster = try Cluster(["ATTEMPTS": "3", "BACKOFF": "20ms"])
    picture = try PictureMaker.start().card(index: 1)
  }

  private func submit(_ paths: [String]) throws -> ImageJob {
    try cluster.finished(cluster.submit(paths.map { origin.baseURL + $0 }))
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

  @Test func `get and info fail at the first attempt if no connection comes about`() throws {
    origin.stop()
    for command in ["get", "info"] {
      let refused = try cluster.imgctl(command, origin.baseURL + "/a")
      #expect(refused.exitCode == 1)
      #expect(refused.messages.contains("connect_failure: Failed to connect to "))
      #expect(!refused.messages.contains("attempts"))
    }
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
}
