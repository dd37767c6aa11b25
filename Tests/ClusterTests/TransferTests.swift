import FoundationEssentials
import ImgClient
import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// Pictures whose transfers break off, and those that are long, with the real processes.
@Suite(.timeLimit(.minutes(20))) struct ResumedDownloadTests {
  private static let cut = 300_000
  private let origin = TestOrigin()
  private let picture: [UInt8]

  init() throws {
    picture = try PictureMaker.start().noise(seed: 1, width: 700, height: 480, format: .png)
  }

  private var url: String { origin.baseURL + "/a" }

  private func resource(_ delivery: BodyDelivery = .whole) -> Behaviour {
    .resource(Resource(picture, contentType: "image/png", entityTag: "\"v1\"", delivery: delivery))
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
    #expect(try cluster.json("cache", "stat").partials == 1)
    #expect(try cluster.imgctl("retry", "\(job)").exitCode == 0)
    #expect(try cluster.finished(job).done == 1)
    #expect(origin.counters("/a").ranges == ["bytes=300000-"])
    #expect(origin.counters("/a").bytesSent == picture.count)
  }

  @Test func `a partial body is intact and is removed with its picture`() throws {
    let cluster = try Cluster()
    origin.serve("/a", resource(.cut(after: Self.cut)))
    for command in [["rm", url], ["reset"]] {
      #expect(try cluster.run([url]).failed == 1)
      let statistics = try cluster.json("cache", "stat")
      #expect([statistics.partials, statistics.entries] == [1, 0])
      #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
      #expect(try cluster.begin(["cache"] + command).wait().exitCode == 0)
      #expect(try cluster.json("cache", "stat").partials == 0)
    }
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
    for options in [["--keep", "all", "--incremental"], ["--size", "9"]] {
      let path = cluster.directory.file("a.png")
      let get = try cluster.begin(["get", origin.baseURL + "/long", "-o", path] + options).wait()
      #expect(get.exitCode == 0)
    }
    #expect(origin.counters("/long").requests == 2, "the original answers the last one")
    let after = try #require(peakByteCount(of: worker))
    #expect(after - before < length / 2)
    #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
  }
}

/// Bodies that are no pictures, and those without end.
@Suite(.timeLimit(.minutes(20))) struct HostileBodyTests {
  @Test func `floods of tiny chunks do not stop the rest of a list`() throws {
    let origin = ListOrigin()
    let chunks = try FloodOrigin.chunkedPicture(endingIn: "1\r\nX\r\n")
    let extensions = try FloodOrigin.chunkedPicture(endingIn: "1;a")
    let cluster = try Cluster.inOrder()
    let endless = (0..<4).map { "\(extensions.baseURL)/\($0)" }
    let floods = (0..<4).map { "\(chunks.baseURL)/\($0)" }
    let job = try cluster.submit(endless + floods + origin.pictures(300))

    #expect(
      try eventually {
        let status = try cluster.status(of: job)
        return status.done == 300 && status.failed >= floods.count
      })
    let codes = try cluster.failures(of: job)
    #expect(floods.allSatisfy { codes[$0] == Failure.Code.tooLarge.rawValue }, "\(codes)")
    #expect(codes.keys.allSatisfy { (endless + floods).contains($0) }, "\(codes)")
    #expect(try cluster.status().workers.map(\.deaths) == [0])
  }
}

/// Transfers over TLS, by what a server in front of the origin saw.
@Suite(.timeLimit(.minutes(20))) struct TLSTests {
  private let origin = TestOrigin()
  private let front: TLSFront
  private static let count = 12
  private static let hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
  private let paths = (0..<count).map { "/\($0)" }

  init() throws {
    // Closed at once: a port that is free.
    let port = TestOrigin().port
    front = try TLSFront(port: port, originPort: origin.port, hosts: Self.hosts)
    for (index, path) in paths.enumerated() {
      origin.serve(path, .body(try PictureMaker.start().card(index: index)))
    }
    let front = front
    try #require(try eventually { front.isListening })
  }

  private func cluster(isTrusting: Bool = true, perHost: Int = 8) throws -> Cluster {
    var settings = ["TRANSFERS_PER_HOST": "\(perHost)", "WORKERS": "1"]
    if isTrusting { settings["CA_FILE"] = front.authorityPath }
    return try Cluster(settings)
  }

  /// All requests, once the server has noted them.
  private func requests() throws -> [TLSFront.Request] {
    try #require(try eventually { try front.requests().count >= Self.count })
    return try front.requests()
  }

  @Test(arguments: [1, 4])
  func `each transfer has an HTTP/1.1 connection, even if HTTP/2 is offered`(perHost: Int) throws {
    let cluster = try cluster(perHost: perHost)
    let job = try cluster.submit(paths.map { front.baseURL + $0 })
    #expect(try cluster.finished(job).done == Self.count)
    let requests = try requests()
    #expect(Set(requests.map(\.path)) == Set(paths))
    #expect(requests.count == Self.count)
    #expect(Set(requests.map(\.version)) == ["HTTP/1.1"])
    #expect((1...perHost).contains(Set(requests.map(\.connection)).count))
  }

  /// More bodies than there is memory for: some wait amid their transfer until others are decoded.
  @Test func `a body that waits for memory delays no other`() throws {
    let cluster = try Cluster([
      "CA_FILE": front.authorityPath, "WORKERS": "1", "WORKER_MEMORY": "128M",
    ])
    // What follows the end of a picture is not looked at.
    let picture = try PictureMaker.start().card(index: 1)
    let body = picture + [UInt8](repeating: 0, count: 16 << 20)
    let paths = (0..<8).map { "/large/\($0)" }
    for path in paths { origin.serve(path, .body(body)) }
    let job = try cluster.submit(paths.map { front.baseURL + $0 })
    #expect(try cluster.finished(job).done == paths.count)
    #expect(try cluster.failures(of: job) == [:])
  }

  @Test func `get reports the time of TLS`() throws {
    #expect(try cluster().json("get", front.baseURL + paths[0]).timings.tls.int != nil)
  }

  @Test func `a certificate of an unknown authority is refused before a request`() throws {
    let cluster = try cluster(isTrusting: false)
    let url = front.baseURL + paths[0]
    let job = try cluster.submit([url])
    #expect(try cluster.finished(job).failed == 1)
    #expect(try cluster.failures(of: job) == [url: "tls_failure"])
    for command in ["get", "info"] {
      let said = try cluster.imgctl(command, url).messages
      #expect(said.contains("imgctl stop && imgctl start --ca-file FILE"), "\(said)")
    }
    #expect(origin.totals().requests == 0)
  }

  @Test func `a certificate for another name is refused`() throws {
    let cluster = try cluster()
    let url = "https://127.0.0.2:\(front.port)\(paths[0])"
    let job = try cluster.submit([url])
    #expect(try cluster.finished(job).failed == 1)
    #expect(try cluster.failures(of: job) == [url: "tls_failure"])
    #expect(origin.totals().requests == 0)
  }
  /// The first of them is of an unknown authority, the others are for another name.
  @Test func `foreign certificates of three hosts, and no other answer, hold a list`() throws {
    let cluster = try cluster(isTrusting: false)
    let urls = paths.flatMap { path in
      Self.hosts.map { "https://\($0):\(front.port)\(path)" }
    }
    let job = try cluster.submit(urls)
    let wait = try wait(of: job, in: cluster)
    #expect(wait?.kind == .captive)
    #expect(wait?.code == .tlsFailure)
  }

  @Test func `a proxy whose certificate is not trusted holds a list, which says so`() throws {
    let cluster = try Cluster(["PROXY": front.baseURL, "WORKERS": "1"])
    let list = try cluster.list(["http://a.invalid/1", "http://a.invalid/2"])
    let run = try cluster.begin(["info", "--list", list])
    try #require(try eventually { try run.messages().contains("\nwaiting: ") })
    let wait = try wait(of: JobID(rawValue: 1), in: cluster)
    #expect(wait?.kind == .offline)
    let advice = "to trust its authority: imgctl stop && imgctl start --ca-file FILE"
    #expect(wait?.detail?.hasSuffix(advice) == true)
    #expect(try run.messages().contains("waiting: offline: the proxy \(front.baseURL): SSL"))
  }

  private func wait(of job: JobID, in cluster: Cluster) throws -> Wait? {
    try cluster.client().watch(job, every: .milliseconds(100)) { $0.wait == nil }.wait
  }
}

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
