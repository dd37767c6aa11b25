import ImgClient
import ImgModel
import ImgSystem
import ImgWire
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// What a person or a program that asks for pictures is promised, row by row.
@Suite(.timeLimit(.minutes(20))) struct RequestLifecycleTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster()
  }

  @Test(arguments: [9, 2] as [CInt])
  func `the transfer of a client that disconnects is aborted`(signal: CInt) throws {
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

  @Test func `get and info give up after their timeout, and who waits longer has the same fetch`()
    throws
  {
    let path = try #require(origin.holdPictures(1).first)
    let patient = try cluster.begin(["get", origin.url(path), "--json"])
    try #require(origin.origin.waitUntil { $0[path].inFlight == 1 })
    let result = try cluster.imgctl("get", origin.url(path), "--timeout", "1", "--json")
    #expect(result.exitCode == 1)
    #expect(result.output.contains(#""code":"timeout""#), "\(result.output)")
    #expect(result.output.contains("longer than its timeout of 1.0 seconds"))
    #expect(result.messages.isEmpty, "the object says it")
    let facts = try cluster.imgctl("info", origin.url(path), "--timeout", "50ms", "--json")
    #expect(facts.exitCode == 1)
    #expect(facts.output.contains(#""code":"timeout""#), "\(facts.output)")
    #expect(facts.messages.isEmpty)
    origin.release([path])
    #expect(try patient.wait().exitCode == 0)
  }

  /// A list whose time begins with the fetch of each URL, not with that of the list.
  @Test func `each URL of a list has the timeout of its job, also after a crash`() throws {
    let held = origin.holdPictures(1)
    let job = try cluster.submit(
      held.map(origin.url) + origin.pictures(3), "--delay", "1500ms", "--timeout", "300ms")
    try cluster.restartAfterCrash()
    let status = try cluster.finished(job)
    #expect([status.done, status.failed, status.retryable] == [3, 1, 1])
    #expect(try cluster.failures(of: job) == [origin.url(held[0]): "timeout"])
    #expect(origin.origin.waitUntil { $0.totals.aborted == 1 })
  }

  @Test func `status and list show a running delay, the priority and the order`() throws {
    let job = try cluster.submit(
      origin.pictures(2), "--delay", "1h", "--priority", "2", "--order", "lifo")
    for arguments in [["status", "\(job)"], ["list"], ["status"]] {
      let output = try cluster.begin(arguments).wait().output
      #expect(output.contains("priority 2, lifo, starts in "), "\(arguments)")
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

  @Test func `a job passes through its states and refuses changes that its state forbids`() throws {
    let held = origin.holdPictures(1)
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
    let url = origin.url("/missing/1")
    let job = try cluster.run([url]).job
    for command in [["get", url], ["failures", "\(job)"]] {
      let report = try cluster.json(command)
      #expect(report.url.string == url)
      #expect([report.stage, report.code] == ["fetch", "http_status"])
      #expect([report.retryable, report.http_status] == [false, 404])
    }
  }

  @Test func `a viewer that moves on does not get the previous picture`() throws {
    origin.hold("/slow")
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

  // MARK: - People who change their minds

  @Test func `cancel aborts transfers and drops waiting lines, and the counts add up`() throws {
    let held = origin.holdPictures(8)
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
    let other = try cluster.submit(origin.pictures(2), "--delay", "1h")
    let both = try cluster.imgctl("cancel", "\(job)", "\(other)")
    #expect(both.exitCode == 2, "one was refused")
    #expect(try cluster.status(of: other).state == .cancelled)
    // The places of what was aborted are free again.
    #expect(try cluster.run(origin.pictures(20)).done == 20)
  }

  @Test func `Ctrl-C ends the display of a job, not the job`() throws {
    let held = origin.holdPictures(8)
    let list = try cluster.list(held.map(origin.url) + origin.pictures(20))
    let run = try cluster.begin(["submit", "--wait", list])
    // It shows the job from the moment on in which it hears Ctrl-C itself.
    try #require(try eventually { try !run.messages().isEmpty })
    run.signal(2)
    let result = try run.wait()
    #expect(result.exitCode == 130)
    #expect(result.output == "1\n")
    #expect(
      result.messages.hasSuffix(
        "job 1 continues; to follow it: imgctl wait 1; to end it: imgctl cancel 1\n"))
    origin.release(held)
    #expect(try cluster.finished(JobID(rawValue: 1)).done == held.count + 20)
  }

  @Test func `Ctrl-C while a list is read says that no job was made`() throws {
    let pipe = try NamedPipe(path: cluster.directory.file("list"))
    let run = try cluster.begin(["submit", pipe.path])
    let writer = try pipe.openForWriting()
    run.signal(2)
    let result = try run.wait()
    #expect(result.status == .signalled(2))
    #expect(result.messages == "interrupted: no job was made\n")
    #expect(try cluster.imgctl("list", "--json").output.isEmpty)
    withExtendedLifetime(writer) {}
  }
}
