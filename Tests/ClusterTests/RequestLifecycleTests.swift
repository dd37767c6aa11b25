import ImgModel
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// What a person or a program that asks for pictures is promised, row by row.
@Suite(.timeLimit(.minutes(20)))
struct RequestLifecycleTests {
  private let cluster: Cluster
  private let origin: ListOrigin

  init() throws {
    cluster = try Cluster()
    origin = try ListOrigin()
  }

  @Test func `submit returns before the origin answers, and status shows the running job`() throws {
    try origin.hold("/held")
    let job = try cluster.submit([origin.url("/held")])
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    let status = try cluster.status(of: job)
    #expect(status.state == .running)
    #expect([status.total, status.running, status.queued] == [1, 1, 0])
    #expect(origin.origin.totals().bytesSent == 0)
    origin.origin.release("/held")
    #expect(try cluster.finished(job).done == 1)
  }

  @Test(arguments: [9, 2] as [CInt])
  func `the transfer of a client that disconnects is aborted`(signal: CInt)
    throws
  {
    let body = try PictureMaker.start().noise(seed: 1, width: 200, height: 200)
    // Far more seconds than a signal takes, and far more bytes than fit between two of its slices.
    let rate = body.count / 20
    origin.origin.serve("/drip", .body(body, delivery: .drip(bytesPerSecond: rate)))
    let run = try cluster.begin(["get", origin.url("/drip")])
    try #require(origin.origin.waitUntil { $0.totals.bytesSent >= body.count / 20 })
    run.signal(signal)
    #expect(origin.origin.waitUntil { $0.totals.aborted == 1 })
    #expect(origin.origin.totals().bytesSent < body.count * 2 / 5)
    #expect(try cluster.waitUntil { $0.viewers == 0 && $0.transfers == 0 })
  }

  @Test func `a job cancelled within its delay sends no request`() throws {
    let job = try cluster.submit(origin.pictures(5), "--delay", "1h")
    let waiting = try cluster.status(of: job)
    #expect(waiting.state == .scheduled)
    #expect(waiting.queued == 5)
    #expect(try cluster.imgctl("cancel", "\(job)").exitCode == 0)
    #expect(try cluster.status(of: job).cancelled == 5)
    // What comes after it is not held up, and so shows that nothing else was asked for.
    #expect(try cluster.run([origin.url("/p/99")]).done == 1)
    #expect(origin.origin.startOrder() == ["/p/99"])
  }

  @Test func `status and list show a running delay, the priority and the order`() throws {
    let job = try cluster.submit(
      origin.pictures(2), "--delay", "1h", "--priority", "2", "--order", "lifo")
    for arguments in [["status", "\(job)"], ["list"], ["status"]] {
      let output = try cluster.begin(arguments).wait().output
      #expect(output.contains("priority 2, lifo, in "), "\(arguments)")
    }
    let status = try cluster.status(of: job)
    #expect(status.order == .lastInFirstOut)
    #expect(status.notBefore == status.submittedAt.advanced(by: .seconds(3_600)))
    #expect(try cluster.imgctl("cancel", "\(job)").exitCode == 0)
  }

  @Test func `a job starts after its delay`() throws {
    let status = try cluster.finished(try cluster.submit(origin.pictures(3), "--delay", "300ms"))
    #expect(status.done == 3)
    let startedAt = try #require(status.startedAt)
    #expect(status.submittedAt.duration(to: startedAt) >= .milliseconds(300))
  }

  @Test func `a get with a delay also delays a hit`() throws {
    let url = origin.url("/p/1")
    #expect(try cluster.imgctl("get", url).exitCode == 0)
    let waiting = try cluster.begin(["get", url, "--delay", "1h"])
    try #require(try cluster.waitUntil { $0.viewers == 1 })
    #expect(try waiting.wait(atMost: .zero).outputBytes.isEmpty)
    waiting.signal(9)
    #expect(try cluster.waitUntil { $0.viewers == 0 })
    let report = try cluster.imgctl("get", url, "--delay", "200ms", "--json")
    #expect(report.exitCode == 0)
    #expect(report.output.contains(#""from_cache":true"#))
    #expect(origin.origin.totals().requests == 1)
  }

  @Test func `a job passes through its states and refuses changes that its state forbids`() throws {
    let held = try origin.holdPictures(1)
    let job = try cluster.submit(held.map(origin.url) + [origin.url("/missing/1")])
    try #require(origin.origin.waitUntil { $0["/held/0"].inFlight == 1 })
    #expect(try cluster.status(of: job).state == .running)
    try cluster.expectRefused("retry", "\(job)", because: "wait until it ends")
    #expect(try cluster.imgctl("pause", "\(job)").exitCode == 0)
    #expect(try cluster.status(of: job).state == .paused)
    try cluster.expectRefused("pause", "\(job)", because: "job 1 is paused already")
    #expect(try cluster.imgctl("resume", "\(job)").exitCode == 0)
    origin.release(held)
    #expect(try cluster.finished(job).state == .finished)

    try cluster.expectRefused(
      "cancel", "\(job)", because: "job 1 is finished; nothing is left to cancel")
    try cluster.expectRefused("retry", "\(job)", because: "--all retries all 1")
    #expect(try cluster.imgctl("retry", "\(job)", "--all", "--wait").exitCode == 1)
    #expect(try cluster.status(of: job).state == .finished)
    #expect(origin.origin.counters("/missing/1").requests == 2)
  }

  @Test func `a failure names its URL, stage, code and status`() throws {
    struct Report: Decodable, Equatable {
      var url: String
      var stage = "fetch"
      var code = "http_status"
      var retryable = false
      var http_status = 404
    }
    let url = origin.url("/missing/1")
    let get = try cluster.imgctl("get", url, "--json")
    #expect(get.exitCode == 1)
    #expect(try get.decoded(Report.self) == Report(url: url))
    let job = try cluster.run([url]).job
    let failures = try cluster.imgctl("failures", "\(job)", "--json")
    #expect(try failures.decoded(Report.self) == Report(url: url))
  }
}
