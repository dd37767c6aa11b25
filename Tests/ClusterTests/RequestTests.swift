import ImgClient
import ImgModel
import ImgWire
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
    #expect(status.notBefore == status.submissionTime.advanced(by: .seconds(3_600)))
    #expect(try cluster.imgctl("cancel", "\(job)").exitCode == 0)
  }

  @Test func `a job starts after its delay`() throws {
    let status = try cluster.finished(try cluster.submit(origin.pictures(3), "--delay", "300ms"))
    #expect(status.done == 3)
    let startedAt = try #require(status.startTime)
    #expect(status.submissionTime.duration(to: startedAt) >= .milliseconds(300))
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

/// Who waits for one picture, beside others that wait for it and lists that hold it.
@Suite(.timeLimit(.minutes(20)))
struct ConcurrentRequestTests {
  private let cluster: Cluster
  private let origin: ListOrigin

  init() throws {
    cluster = try Cluster.inOrder()
    origin = try ListOrigin()
  }

  @Test func `two hundred concurrent gets are each answered once`() throws {
    let channel = try cluster.greetedChannel()
    let count: UInt64 = 200
    let lines = origin.mixedList(60).lines
    for number in 1...count {
      try channel.sendWhole(
        .get(
          GetRequest(
            id: RequestID(rawValue: number), url: lines[Int(number) % lines.count],
            options: RequestOptions(variant: .standard))))
    }
    var answered: [RequestID: Int] = [:]
    while answered.count < count {
      guard case .got(let got) = try channel.nextInTime() else {
        Issue.record("a get is answered by what was got")
        return
      }
      answered[got.id, default: 0] += 1
    }
    // Had one been answered twice, the second answer would come before this one.
    try channel.sendWhole(.status(PlainRequest(id: RequestID(rawValue: count + 1))))
    guard case .status(let status) = try channel.nextInTime() else {
      Issue.record("nothing else was to be said")
      return
    }
    #expect(status.cluster.viewers == 0)
    #expect(answered.values.allSatisfy { $0 == 1 })
  }

  @Test func `two hundred concurrent jobs each report their end once`() throws {
    let client = try cluster.client()
    let channel = try cluster.greetedChannel()
    for number in 0..<200 {
      var lines: [[String]] = [[origin.url("/p/\(number)")]]
      let submitted = try client.submit(
        name: nil, options: RequestOptions(variant: .standard), order: .firstInFirstOut
      ) { lines.popLast() }
      let id = RequestID(rawValue: submitted.job.rawValue)
      try channel.sendWhole(.job(JobRequest(id: id, job: submitted.job, isWatching: true)))
    }
    var ends: [JobID: Int] = [:]
    while ends.count < 200 {
      guard case .job(let reply) = try channel.nextInTime() else {
        Issue.record("a watch is answered by the job")
        return
      }
      if reply.status.hasEnded { ends[reply.status.job, default: 0] += 1 }
    }
    try channel.sendWhole(.status(PlainRequest(id: RequestID(rawValue: 1_000))))
    guard case .status = try channel.nextInTime() else {
      Issue.record("nothing else was to be said")
      return
    }
    #expect(ends.values.allSatisfy { $0 == 1 })
    #expect(origin.origin.totals().requests == 200)
  }

  @Test func `if one of two viewers of a URL disconnects, the other gets the picture`() throws {
    try origin.hold("/held")
    let runs = try (0..<2).map { _ in try cluster.begin(["get", origin.url("/held")]) }
    try #require(try cluster.waitUntil { $0.viewers == 2 })
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    runs[0].signal(9)
    try #require(try cluster.waitUntil { $0.viewers == 1 })
    origin.origin.release("/held")
    let result = try runs[1].wait()
    #expect(result.exitCode == 0)
    #expect(!result.outputBytes.isEmpty)
    #expect(origin.origin.counters("/held").requests == 1)
    #expect(origin.origin.totals().aborted == 0)
  }

  @Test func `cancelling a job does not cancel a URL that a viewer waits for`() throws {
    let held = try origin.holdPictures(8)
    let job = try cluster.submit(held.map(origin.url) + origin.pictures(20))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == held.count })
    let viewer = try cluster.begin(["get", origin.url(held[0])])
    try #require(try cluster.waitUntil { $0.viewers == 1 })
    #expect(try cluster.imgctl("cancel", "\(job)").exitCode == 0)
    #expect(try cluster.status(of: job).cancelled == 28)
    #expect(origin.origin.waitUntil { $0.totals.aborted == held.count - 1 })
    origin.release(held)
    #expect(try viewer.wait().exitCode == 0)
    #expect(origin.origin.counters(held[0]).requests == 1)
    #expect(origin.origin.totals().requests == held.count)
  }

  @Test func `a viewer that moves on does not get the previous picture`() throws {
    try origin.hold("/slow")
    let slow = try cluster.begin(["get", "--viewer", "v", origin.url("/slow")])
    try #require(origin.origin.waitUntil { $0["/slow"].inFlight == 1 })
    let fast = try cluster.imgctl("get", "--viewer", "v", origin.url("/p/1"))
    #expect(fast.exitCode == 0)
    #expect(!fast.outputBytes.isEmpty)
    let left = try slow.wait()
    #expect(left.exitCode == 1)
    #expect(left.outputBytes.isEmpty)
    #expect(left.messages.contains("replaced this one"))
    #expect(origin.origin.waitUntil { $0["/slow"].aborted == 1 })
    try #require(try cluster.waitUntil { $0.transfers == 0 })
    #expect(try cluster.status().discardedLate == 1)
  }
}

/// People who change their minds.
@Suite(.timeLimit(.minutes(20)))
struct CancelTests {
  private let cluster: Cluster
  private let origin: ListOrigin
  private let held = (0..<8).map { "/held/\($0)" }

  private static let interrupt: CInt = 2

  init() throws {
    cluster = try Cluster.inOrder()
    origin = try ListOrigin()
    for path in held { try origin.hold(path) }
  }

  @Test func `cancel aborts transfers and drops waiting lines, and the counts add up`() throws {
    let job = try cluster.submit(held.map(origin.url) + origin.pictures(500))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == held.count })
    #expect(try cluster.imgctl("cancel", "\(job)").exitCode == 0)
    #expect(origin.origin.waitUntil { $0.totals.aborted == held.count })

    let status = try cluster.status(of: job)
    #expect(status.state == .cancelled)
    #expect(status.total == held.count + 500)
    #expect(status.cancelled == held.count + 500)
    #expect([status.done, status.failed, status.queued, status.running] == [0, 0, 0, 0])
    #expect(try cluster.imgctl("wait", "\(job)").exitCode == 1)

    let again = try cluster.imgctl("cancel", "\(job)")
    #expect(again.exitCode == 2)
    #expect(again.messages == "imgctl: job 1 is cancelled; nothing is left to cancel\n")
    // The places of what was aborted are free again.
    #expect(try cluster.run(origin.pictures(20)).done == 20)
  }

  @Test func `cancel prints the final counts`() throws {
    for path in held { origin.origin.release(path) }
    let slow = try ListOrigin(headerDelay: .milliseconds(20))
    let job = try cluster.submit(slow.pictures(500))
    try #require(slow.origin.waitUntil { $0.totals.requests >= 50 })
    let final = try cluster.client().answer(.change(job, .cancel))
    #expect(final.state == .cancelled)
    #expect(final.finished == 500)
    #expect(final.cancelled > 0)
    #expect(try cluster.status(of: job) == final)
  }

  @Test func `a URL of two jobs continues when one is cancelled`() throws {
    let first = try cluster.submit([origin.url(held[0])])
    let second = try cluster.submit([origin.url(held[0])])
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    try #require(try cluster.waitUntil { _ in try cluster.status(of: second).running == 1 })
    #expect(try cluster.imgctl("cancel", "\(first)").exitCode == 0)
    origin.origin.release(held[0])
    #expect(try cluster.finished(second).done == 1)
    #expect(origin.origin.counters(held[0]).requests == 1)
  }

  @Test func `Ctrl-C ends the display of a job, not the job`() throws {
    let list = try cluster.list(held.map(origin.url) + origin.pictures(20))
    let run = try cluster.begin(["submit", "--wait", list])
    // It shows the job from the moment on in which it hears Ctrl-C itself.
    try #require(try eventually { try !run.messages().isEmpty })
    run.signal(Self.interrupt)
    let result = try run.wait()
    #expect(result.exitCode == 130)
    #expect(result.output == "1\n")
    #expect(result.messages.hasSuffix("job 1 continues; to follow it again: imgctl wait 1\n"))
    for path in held { origin.origin.release(path) }
    #expect(try cluster.finished(JobID(rawValue: 1)).done == held.count + 20)
  }

  @Test func `a client that disconnects cancels its request`() throws {
    let run = try cluster.begin(["get", origin.url(held[0])])
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    run.signal(9)
    #expect(origin.origin.waitUntil { $0.totals.aborted == 1 })
    #expect(try cluster.waitUntil { $0.viewers == 0 && $0.transfers == 0 })
  }
}
