import ImgClient
import ImgModel
import ImgWire
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// What origins see of jobs and gets that say how they are to be asked, and what is shown of that.
@Suite(.timeLimit(.minutes(20))) struct PolitenessTests {
  private let cluster: Cluster
  private let origin = ListOrigin()
  private static let secret = "Bearer 1234567890"

  init() throws {
    cluster = try Cluster(["CONTACT": "ada@example.org"])
  }

  /// All that commands show of jobs, and all that the coordinator has said.
  private func shown(of job: JobID) throws -> String {
    let commands = [
      ["status", "\(job)", "--json"], ["status", "\(job)"], ["list", "--json"], ["list"],
      ["cache", "ls"], ["cache", "ls", "--json"], ["status", "--json"], ["failures", "\(job)"],
      ["failures", "\(job)", "--json"], ["wait", "\(job)", "--json"],
    ]
    return try commands.map { words in
      let result = try cluster.begin(words).wait()
      return result.output + result.messages
    }.joined()
  }

  @Test func `headers are sent with each request of a job and shown nowhere`() throws {
    let lines = [origin.url("/p/1"), origin.url("/missing/1")]
    let job = try cluster.submit(lines, "--header", "Authorization: \(Self.secret)")
    #expect(try cluster.imgctl("wait", "\(job)").exitCode == 1)
    for path in ["/p/1", "/missing/1"] {
      #expect(origin.origin.counters(path).headersSeen["authorization"] == Self.secret)
    }
    let shown = try shown(of: job)
    #expect(shown.contains("authorization"))
    #expect(!shown.contains("1234567890"))
    let export = cluster.directory.file("out")
    _ = try cluster.imgctl("export", "\(job)", export)
    #expect(
      try cluster.imgctl("export", "\(job)", export, "--json").output.contains("\"exported\":1"))
  }

  @Test func `other headers select another picture with its own name in the store`() throws {
    let url = origin.url("/p/1")
    #expect(try cluster.imgctl("get", url, "--header", "X-A: 1").exitCode == 0)
    #expect(
      try cluster.imgctl("get", url, "--header", "x-a:1", "--json").output.contains(
        #""from_cache":true"#))
    #expect(try cluster.imgctl("cache", "get", url).exitCode == 1)
    #expect(try cluster.imgctl("cache", "get", url, "--header", "X-A: 1").exitCode == 0)
    #expect(try cluster.imgctl("get", url).exitCode == 0)
    #expect(origin.origin.counters("/p/1").requests == 2)
    #expect(try cluster.imgctl("cache", "ls", "--host", "127.0.0.1").lines.count == 2)
    #expect(try cluster.imgctl("cache", "rm", url).messages.contains("removed 2 records"))
  }

  @Test func `an ignored query parameter is sent but not part of the picture's name`() throws {
    let signed = (1...2).map { origin.url("/p/1?v=1&X-Amz-Signature=\($0)&X-Amz-Date=\($0)") }
    let job = try cluster.submit([signed[0]], "--ignore-query", "X-Amz-*")
    #expect(try cluster.finished(job).done == 1)
    #expect(origin.origin.counters("/p/1?v=1&X-Amz-Signature=1&X-Amz-Date=1").requests == 1)
    let again = try cluster.submit([signed[1]], "--ignore-query", "X-Amz-*")
    #expect(try cluster.finished(again).fromCache == 1)
    #expect(origin.origin.totals().requests == 1)
    let listed = try cluster.imgctl("cache", "ls").output
    #expect(listed.contains("/p/1?v=1\n"))
    #expect(!listed.contains("Signature"))
    let directory = cluster.directory.file("out")
    #expect(try cluster.imgctl("export", "\(again)", directory).exitCode == 0)
    let naming = [signed[0], "--ignore-query", "X-Amz-*"]
    #expect(try cluster.begin(["cache", "get"] + naming).wait().exitCode == 0)
    #expect(
      try cluster.begin(["cache", "rm"] + naming).wait().messages.contains("removed 1 record"))
  }

  @Test func `--cache-key names the picture for any URL`() throws {
    let key = ["--cache-key", "photo-17"]
    #expect(try cluster.begin(["get", origin.url("/p/1")] + key).wait().exitCode == 0)
    let other = try cluster.begin(["get", "http://127.0.0.2:1/"] + key).wait()
    #expect(other.exitCode == 0)
    #expect(origin.origin.totals().requests == 1)
    #expect(try cluster.imgctl("cache", "ls").output.contains("\tphoto-17\n"))
    #expect(try cluster.begin(["cache", "get", "http://h/"] + key).wait().exitCode == 0)
    #expect(
      try cluster.begin(["cache", "rm", "http://h/"] + key).wait().messages
        .contains("removed 1 record"))
  }

  @Test func `one cache key at two hosts is fetched within each host's limits`() throws {
    origin.hold("/held")
    let key = ["--cache-key", "photo-17"]
    let port = origin.origin.port
    let first = try cluster.begin(["get", "http://127.0.0.1:\(port)/held", "--size", "64"] + key)
    let second = try cluster.begin(["get", "http://localhost:\(port)/held", "--size", "32"] + key)
    #expect(origin.origin.waitUntil { $0.totals.inFlight == 2 })
    origin.release(["/held"])
    #expect(try first.wait().exitCode == 0)
    #expect(try second.wait().exitCode == 0)
  }

  @Test func `lists respect X-Robots-Tag, and get does not`() throws {
    origin.serve("/p/1")
    let picture = try cluster.imgctl("get", origin.url("/p/1")).outputBytes
    let tag = Header("X-Robots-Tag", "otherbot: nofollow, imgctl: noai")
    origin.origin.serve("/kept", .body(picture, headers: [tag]))
    let url = origin.url("/kept")
    let job = try cluster.submit([url])
    #expect(try cluster.finished(job).failed == 1)
    #expect(try cluster.failures(of: job) == [url: "opted_out"])
    #expect(try cluster.imgctl("get", url, "--respect-opt-out").exitCode == 1)
    #expect(try cluster.imgctl("get", url, "--no-cache").exitCode == 0)
    let forced = try cluster.submit([url], "--no-respect-opt-out")
    #expect(try cluster.finished(forced).done == 1)
    #expect(origin.origin.counters("/kept").requests == 4)
  }

  @Test func `robots.txt is fetched once by all workers and not by the next coordinator`() throws {
    let rules = "User-agent: imgctl\nDisallow: /p/*3$\n"
    origin.origin.serve("/robots.txt", .body(Array(rules.utf8), contentType: "text/plain"))
    let lines = origin.pictures(40)
    let status = try cluster.finished(try cluster.submit(lines, "--respect-robots"))
    #expect(status.done == 36)
    let closed = [3, 13, 23, 33].map { origin.url("/p/\($0)") }
    let failures = try cluster.failures(of: status.job)
    #expect(failures == Dictionary(uniqueKeysWithValues: closed.map { ($0, "opted_out") }))
    #expect(origin.origin.counters("/robots.txt").requests == 1)
    #expect(origin.origin.startOrder().first == "/robots.txt")
    #expect(try cluster.imgctl("stop").exitCode == 0)
    let again = try cluster.imgctl("get", origin.url("/p/43"), "--respect-robots")
    #expect(again.messages.contains("opted_out: the robots.txt of"))
    #expect(origin.origin.counters("/robots.txt").requests == 1)
    #expect(closed.allSatisfy { origin.origin.counters(String($0.suffix(5))).requests == 0 })
  }

  @Test func `the contact of the coordinator or of a job is sent in the User-Agent`() throws {
    #expect(try cluster.imgctl("get", origin.url("/p/1")).exitCode == 0)
    let agent = origin.origin.counters("/p/1").headersSeen["user-agent"]
    #expect(agent == "imgctl/\(Build.version) (+ada@example.org)")
    let table = try cluster.imgctl("status", "--limits").output
    #expect(table.contains("ada@example.org"))
    let own = try cluster.submit([origin.url("/p/2")], "--contact", "https://example.org/bot")
    #expect(try cluster.finished(own).done == 1)
    #expect(
      origin.origin.counters("/p/2").headersSeen["user-agent"]
        == "imgctl/\(Build.version) (+https://example.org/bot)")
  }
}

/// Limits as an origin feels them.
@Suite(.timeLimit(.minutes(20))) struct LimitTests {
  @Test func `a limit changed at run time applies at once`() throws {
    let cluster = try Cluster(["TRANSFERS": "6"])
    let origin = ListOrigin()
    let held = origin.holdPictures(60)
    let job = try cluster.submit(held.map(origin.url))
    for limit in [6, 2, 5] {
      #expect(try cluster.imgctl("limits", "--transfers", "\(limit)").exitCode == 0)
      // With these end those that began by the limit of before.
      try replaceTransfers(of: origin, by: limit)
      let mark = origin.origin.snapshot.log.count
      for _ in 0..<2 { try replaceTransfers(of: origin, by: limit) }
      #expect(origin.origin.snapshot.peakInFlight(from: mark) == limit)
    }
    origin.release(held)
    #expect(try cluster.finished(job).done == held.count)
    #expect(origin.origin.totals().peakInFlight == 6)
  }

  @Test func `the memory budget is at least 10 MiB, which is told, and can be changed`() throws {
    let cluster = try Cluster(["MEMORY_BUDGET": "1M"])
    func budget() throws -> Int64 {
      try cluster.client().answer(.status).limits.memoryBudgetByteCount
    }
    #expect(try budget() == 10_485_760)
    let status = try cluster.imgctl("status", "--json").output
    #expect(status.contains(#""memory_budget_bytes":10485760"#))
    #expect(status.contains(#""memory":{"processes":0,"share_bytes":10485760}"#))
    let raised = try cluster.imgctl("limits", "--memory-budget", "2M", "--transfers", "0")
    #expect(raised.messages.contains("--memory-budget is 10M, the minimum, instead of 2M\n"))
    #expect(raised.messages.contains("--transfers is 1, the minimum, instead of 0\n"))
    #expect(try budget() == 10 << 20)
    let changed = try cluster.imgctl("limits", "--memory-budget", "80M")
    #expect(changed.messages.contains("to keep it: imgctl config set --memory-budget 80M"))
    #expect(try budget() == 80 << 20)
  }

  /// Lets go what is held, and waits until so many others are.
  private func replaceTransfers(of origin: ListOrigin, by count: Int) throws {
    let ending = origin.origin.snapshot.paths.filter { $0.value.inFlight > 0 }.map(\.key)
    origin.release(ending)
    try #require(
      origin.origin.waitUntil { snapshot in
        snapshot.totals.inFlight == count && ending.allSatisfy { snapshot[$0].inFlight == 0 }
      })
  }

  @Test func `transfers start at a host within its rate`() throws {
    let cluster = try Cluster(["RATE_PER_HOST": "2/s"])
    let origin = ListOrigin()
    let begin = ContinuousClock.now
    #expect(try cluster.run(origin.pictures(6)).done == 6)
    let starts = origin.origin.snapshot.starts().map(\.moment)
    #expect(starts.count == 6)
    // Two may begin at once; a delay on the way to the origin only makes the others later.
    for (index, moment) in starts.enumerated() {
      #expect(moment - begin >= .milliseconds(500) * (index - 1), "start \(index)")
    }
  }

  @Test func `pictures are the time apart that robots.txt asks for`() throws {
    let cluster = try Cluster()
    let origin = ListOrigin()
    origin.origin.serve("/robots.txt", .body(Array("User-agent: *\nCrawl-delay: 0.5\n".utf8)))
    let job = try cluster.submit(origin.pictures(2), "--respect-robots")
    #expect(try cluster.finished(job).done == 2)
    let starts = origin.origin.snapshot.starts().map(\.moment)
    #expect(starts.count == 3)
    // From the robots.txt on. A delay on the way to the origin only makes the others later.
    #expect(starts[2] - starts[0] >= .milliseconds(1_000))
  }

  @Test func `workers together keep a limit of bandwidth, until it is lifted while they run`()
    throws
  {
    let cluster = try Cluster(["BYTES_PER_SECOND_PER_HOST": "1K", "WORKERS": "2"])
    let origin = TestOrigin()
    // At most a quarter of a second's worth and a piece of 16 KiB for each worker pass at first.
    let body = Array("P6 200 200 255\n".utf8) + [UInt8](repeating: 9, count: 3 * 200 * 200)
    let paths = (0..<4).map { "/long/\($0)" }
    for path in paths { origin.serve(path, .body(body)) }
    let job = try cluster.submit(paths.map { origin.baseURL + $0 })
    // Buffers of the machine take more than what passes.
    try #require(origin.waitUntil { $0.totals.requests == paths.count && $0.totals.inFlight == 0 })
    #expect(try cluster.status(of: job).done == 0)
    let change = try cluster.imgctl("limits", "--bytes-per-second-per-host", "none")
    #expect(change.messages.contains("config set --bytes-per-second-per-host none"))
    #expect(try cluster.finished(job).done == paths.count)
    #expect(origin.totals().requests == paths.count)
  }

  @Test func `pictures beyond a limit fail with its code`() throws {
    let cluster = try Cluster(["MAX_BODY": "10000", "MAX_PIXELS": "3000"])
    let origin = ListOrigin()
    origin.origin.serve("/large", .body(Array(repeating: 0, count: 10_001)))
    let status = try cluster.run([origin.url("/large"), origin.url("/p/1")])
    let failures = try cluster.failures(of: status.job)
    #expect(failures[origin.url("/large")] == Failure.Code.tooLarge.rawValue)
    #expect(failures[origin.url("/p/1")] == Failure.Code.tooManyPixels.rawValue)
  }

  @Test func `redirects of eight hosts to one keep the limit of that host`() throws {
    let perHost = 2
    let cluster = try Cluster(["TRANSFERS_PER_HOST": "\(perHost)"])
    let target = ListOrigin()
    let targetURLs = (0..<40).map { target.url("/p/\($0)") }
    let redirecting = TestOrigin { path, _ in
      Int(path.dropFirst()).map { .redirect(to: targetURLs[$0]) }
    }
    let held = (0..<8).map { "/p/\($0)" }
    for path in held { target.hold(path) }
    // One origin under eight names is eight hosts.
    let list = targetURLs.indices.map { number in
      "\(redirecting.baseURL)/\(number)".replacing("127.0.0.1", with: "host\(number % 8).localhost")
    }
    let job = try cluster.submit(list)
    // Each host has sent a transfer on, and as many as the limit allows have come.
    try #require(redirecting.waitUntil { $0.totals.requests >= 8 })
    try #require(target.origin.waitUntil { $0.totals.inFlight >= perHost })
    target.release(held)
    #expect(try cluster.finished(job).done == list.count)
    #expect(target.origin.totals().peakInFlight == perHost)
    #expect(target.origin.totals().requests == list.count)
    #expect(redirecting.totals().requests == list.count)
  }
}
