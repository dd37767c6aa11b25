import ImgModel
import TestCluster
import TestOrigin
import Testing

/// What a person does to a job that was accepted: pause, resume, retry, remove.
@Suite(.timeLimit(.minutes(20)))
struct JobChangeTests {
  private let cluster: Cluster
  private let origin: ListOrigin

  init() throws {
    cluster = try Cluster.inOrder()
    origin = try ListOrigin()
  }

  /// A job with eight held pictures under way, and fifty that wait.
  private func startedJob() throws -> (job: JobID, held: [String]) {
    let held = try origin.holdPictures(8)
    let job = try cluster.submit(held.map(origin.url) + origin.pictures(50))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == held.count })
    return (job, held)
  }

  // MARK: - Pause and resume

  @Test(arguments: [false, true])
  func `pause finishes running URLs and starts no more until resume, also after a crash`(
    isCrashing: Bool
  ) throws {
    let (job, held) = try startedJob()
    #expect(try cluster.imgctl("pause", "\(job)").exitCode == 0)
    origin.release(held)
    try #require(try eventually { try cluster.status(of: job).running == 0 })
    if isCrashing {
      try cluster.killCoordinator()
      try cluster.start()
    }
    let paused = try cluster.status(of: job)
    #expect(paused.state == .paused)
    #expect([paused.done, paused.queued] == [8, 50])
    // Others go on beside it, and show that the paused one had its chance.
    #expect(try cluster.run([origin.url("/p/100")]).done == 1)
    #expect(origin.origin.startOrder().dropFirst(8) == ["/p/100"])

    #expect(try cluster.imgctl("resume", "\(job)", "--wait").exitCode == 0)
    let status = try cluster.status(of: job)
    #expect([status.done, status.fromCache] == [58, 0])
    #expect(origin.origin.totals().requests == 59)
  }

  @Test func `wait reports a paused job and returns when it has ended`() throws {
    let (job, held) = try startedJob()
    #expect(try cluster.imgctl("pause", "\(job)").exitCode == 0)
    let wait = try cluster.begin(["wait", "\(job)"])
    try #require(try eventually { try wait.messages().contains("job 1 is paused") })
    origin.release(held)
    #expect(try cluster.imgctl("resume", "\(job)").exitCode == 0)
    #expect(try wait.wait().exitCode == 0)
  }

  // MARK: - Retry

  @Test func `retry repeats temporary failures, and --all every failure`()
    throws
  {
    let good = origin.pictures(10)
    let busy = (0..<5).map { "/busy/\($0)" }
    let missing = (0..<3).map { "/missing/\($0)" }
    for path in busy { try origin.refuseOnce(path) }
    let job = try cluster.submit(good + busy.map(origin.url) + missing.map(origin.url))
    let first = try cluster.finished(job)
    #expect([first.done, first.failed, first.retryable] == [10, 8, 5])

    #expect(try cluster.imgctl("retry", "\(job)", "--wait").exitCode == 1)
    let second = try cluster.status(of: job)
    #expect([second.total, second.done, second.failed, second.retryable] == [18, 15, 3, 0])
    #expect(second.fromCache == 0)
    #expect(Set(origin.origin.startOrder().dropFirst(18)) == Set(busy))
    try cluster.expectRefused("retry", "\(job)", because: "--all retries all 3")

    for path in missing { try origin.serve(path) }
    #expect(try cluster.imgctl("retry", "\(job)", "--all", "--wait").exitCode == 0)
    let third = try cluster.status(of: job)
    #expect([third.done, third.failed, third.cancelled] == [18, 0, 0])
    #expect(Set(origin.origin.startOrder().dropFirst(18 + 5)) == Set(missing))
    #expect(origin.origin.totals().requests == 18 + 5 + 3)
    #expect(try cluster.failures(of: job).isEmpty)
  }

  @Test func `retry of a cancelled job processes only its unfinished lines`() throws {
    let (job, held) = try startedJob()
    // One place given back lets the list go on.
    origin.release([held[0]])
    try #require(try eventually { try cluster.status(of: job).done > 0 })
    #expect(try cluster.imgctl("cancel", "\(job)").exitCode == 0)
    let cancelled = try cluster.status(of: job)
    #expect(cancelled.done > 0)
    #expect(cancelled.done + cancelled.cancelled == 58)
    #expect(origin.origin.waitUntil { $0.totals.inFlight == 0 })
    let mark = origin.origin.snapshot.log.count

    origin.release(held)
    #expect(try cluster.imgctl("retry", "\(job)", "--wait").exitCode == 0)
    let status = try cluster.status(of: job)
    #expect([status.done, status.failed, status.cancelled] == [58, 0, 0])
    let again = origin.origin.snapshot.starts(from: mark).map(\.path)
    #expect(Set(again).count == again.count)
    #expect(again.count == cancelled.cancelled - status.fromCache)
  }

  @Test func `a retried job continues after a crash of the coordinator`() throws {
    let busy = (0..<5).map { "/busy/\($0)" }
    for path in busy { try origin.refuseOnce(path) }
    let job = try cluster.submit(busy.map(origin.url) + origin.pictures(5))
    #expect(try cluster.finished(job).failed == 5)
    #expect(try cluster.imgctl("pause", "\(job)").exitCode == 2)
    #expect(try cluster.imgctl("retry", "\(job)").exitCode == 0)
    try cluster.killCoordinator()
    try cluster.start()
    let status = try cluster.finished(job)
    #expect([status.total, status.done, status.failed, status.retryable] == [10, 10, 0, 0])
    for path in origin.pictures(5) {
      let path = String(path.dropFirst(origin.origin.baseURL.count))
      #expect(origin.origin.counters(path).requests == 1)
    }
  }

  // MARK: - Remove

  @Test func `a removed job is gone, its number is not reused, and its thumbnails stay`()
    throws
  {
    let first = try cluster.run(origin.pictures(3)).job
    let second = try cluster.run(origin.pictures(5)).job
    #expect(try cluster.imgctl("remove", "\(second)").exitCode == 0)
    #expect(try cluster.jobs() == [first])
    #expect(try cluster.imgctl("status", "\(second)").messages.contains("there is no job 2"))
    #expect(try cluster.imgctl("get", origin.url("/p/4")).exitCode == 0)

    try cluster.killCoordinator()
    try cluster.start()
    let third = try cluster.run(origin.pictures(5))
    #expect(third.job == JobID(rawValue: 3))
    #expect(third.fromCache == 5)
    #expect(origin.origin.totals().requests == 5)
  }

  @Test func `a job that has not ended is not removed`() throws {
    _ = try cluster.run(origin.pictures(3))
    let (job, held) = try startedJob()
    try cluster.expectRefused("remove", "\(job)", because: "cancel it first")
    #expect(try cluster.imgctl("remove", "--older-than", "1h").exitCode == 0)
    #expect(try cluster.jobs().count == 2)
    let removed = try cluster.imgctl("remove", "--older-than", "0s")
    #expect(removed.messages == "removed 1 job\n")
    #expect(try cluster.jobs() == [job])
    origin.release(held)
    #expect(try cluster.finished(job).done == 58)
  }
}
