import ImgModel
import ImgSystem
import SeededRandom
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// What starts when, as the origin sees it.
@Suite(.timeLimit(.minutes(20))) struct SchedulingTests {
  private let origin = ListOrigin()

  @Test func `a changed priority applies to URLs that have not started`() throws {
    let cluster = try Cluster.inOrder(["TRANSFERS": "1"])
    let held = origin.holdPictures(1)
    _ = try cluster.submit(held.map(origin.url))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    let jobs = try [["/p/1", "/p/2"], ["/p/3", "/p/4"], ["/p/5", "/p/6"]].map {
      try cluster.submit($0.map(origin.url))
    }
    #expect(try cluster.imgctl("priority", "\(jobs[2])", "1").exitCode == 0)
    #expect(try cluster.imgctl("priority", "\(jobs[0])", "-1").exitCode == 0)
    #expect(try cluster.status(of: jobs[2]).priority == .high)
    try #require(try cluster.waitUntilLookedUp())
    origin.release(held)
    for job in jobs { #expect(try cluster.finished(job).done == 2) }
    let order = ["/p/5", "/p/6", "/p/3", "/p/4", "/p/1", "/p/2"]
    #expect(origin.origin.startOrder() == held + order)
  }

  @Test func `status shows ten jobs that have not ended, and says how many there are besides`()
    throws
  {
    let cluster = try Cluster()
    for _ in 0..<12 { _ = try cluster.submit(origin.pictures(1), "--delay", "1h") }
    let status = try cluster.imgctl("status").output
    #expect(status.hasSuffix("\n2 more: imgctl list\n"))
    #expect(status.contains("  starts in 59m "))
  }

  @Test(arguments: [(order: "fifo", isReversed: false), (order: "lifo", isReversed: true)])
  func `--order selects the first or the last line first for any number of workers`(
    order: String, isReversed: Bool
  ) throws {
    let cluster = try Cluster(["TRANSFERS": "1", "WORKERS": "3"])
    let lines = origin.pictures(200)
    let job = try cluster.submit(lines, "--order", order)
    #expect(try cluster.finished(job).done == lines.count)
    let starts = origin.origin.startOrder().map(origin.url)
    #expect(starts == (isReversed ? lines.reversed() : lines))
  }
}

/// A list of one host that fails a third of all requests, in every way that may pass.
@Suite(.timeLimit(.minutes(20))) struct HostileBatchTests {
  private static let transfersPerHost = 8

  private static func number(_ variable: String) -> UInt64? {
    ThisProcess.environment[variable].flatMap { UInt64($0) }
  }

  /// `IMGCTL_TEST_THOROUGH=1` has it be a long list, which takes minutes; `IMGCTL_TEST_SEED`
  /// replays the answers of another run.
  @Test func `a list of a hostile origin finishes, within its limit and its Retry-After`() throws {
    let seed = Self.number("IMGCTL_TEST_SEED") ?? UInt64.random(in: 0..<1 << 32)
    let isThorough = Self.number("IMGCTL_TEST_THOROUGH") == 1
    let origin = try HostileOrigin(seed: seed, pictureCount: isThorough ? 2_000 : 40)
    let cluster = try Cluster([
      "ATTEMPTS": "30", "BACKOFF": "50ms", "STALL_TIMEOUT": "2s",
      "TRANSFERS_PER_HOST": "\(Self.transfersPerHost)",
    ])
    let begin = ContinuousClock.now
    let status = try cluster.finished(cluster.submit(origin.urls), within: .seconds(900))
    let duration = ContinuousClock.now - begin

    #expect(status.done == origin.urls.count, "seed \(seed)")
    #expect(status.failed == 0, "seed \(seed)")
    #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
    let snapshot = origin.origin.snapshot
    let peak = peakInFlight(in: snapshot)
    #expect(peak <= Self.transfersPerHost, "seed \(seed)")
    let rests = startsInRests(of: origin, in: snapshot)
    // Requests that were on their way: at most the concurrent ones for each Retry-After.
    let starts = rests.flatMap(\.self)
    #expect(starts.count <= rests.count * Self.transfersPerHost, "seed \(seed)")
    let ranges = snapshot.paths.values.map(\.ranges.count).reduce(0, +)
    print(
      "hostile, seed \(seed): \(status.done) of \(origin.urls.count) done in \(duration), "
        + "\(snapshot.totals.requests) requests (\(tally(of: origin, in: snapshot))), \(ranges) "
        + "with a Range; peak in flight \(peak) of \(Self.transfersPerHost); within "
        + "\(rests.count) cooldowns, there were \(starts.count) requests, the latest "
        + "\(starts.max() ?? .zero) after Retry-After")
  }

  // MARK: - The origin's log

  /// Without the requests that were given up: the origin notices late that their client has left.
  private func peakInFlight(in snapshot: OriginSnapshot) -> Int {
    let aborted = Set(snapshot.log.filter { $0.kind == .aborted }.map(\.request))
    return snapshot.peakInFlight { !aborted.contains($0.request) }
  }

  /// The delays of requests that started after each Retry-After, before its end.
  private func startsInRests(of origin: HostileOrigin, in snapshot: OriginSnapshot) -> [[Duration]]
  {
    let cooldowns = Set(
      origin.answered(in: snapshot).filter { $0.answer == .retryAfter }.map(\.request.request))
    let starts = snapshot.starts().map(\.moment)
    return snapshot.log.filter { $0.kind == .landed && cooldowns.contains($0.request) }.map {
      cooldown in
      starts.map { $0 - cooldown.moment }
        .filter { .zero < $0 && $0 < .seconds(HostileOrigin.retryAfterSeconds) }
    }
  }

  private func tally(of origin: HostileOrigin, in snapshot: OriginSnapshot) -> String {
    let answers = origin.answered(in: snapshot).map(\.answer)
    return HostileOrigin.Answer.allCases
      .map { kind in "\(answers.count { $0 == kind }) \(kind)" }
      .joined(separator: ", ")
  }
}

/// An origin whose every third response is a refusal, a Retry-After, a reset or a stall, as a
/// seed has it, until it gives the picture.
struct HostileOrigin {
  enum Answer: CaseIterable {
    /// 503, which does not say for how long.
    case unavailable
    /// 429 with Retry-After.
    case retryAfter
    /// The connection is reset within the picture.
    case reset
    /// Within the picture nothing more comes.
    case stall
    case picture
  }

  static let retryAfterSeconds = 1
  /// Which part of a picture comes before a reset or a stall: enough to be kept, and so little that
  /// what breaks off again and again is hardly ever whole before its turn.
  private static let part = 4
  /// A picture takes some time, so that transfers meet.
  private static let bytesPerSecond = 10_000_000

  let origin: TestOrigin
  /// The answers to the requests for each picture, in their order; the last one is the picture.
  let answers: [[Answer]]

  init(seed: UInt64, pictureCount: Int) throws {
    var generator = SeededGenerator(seed: seed)
    let answers = (0..<pictureCount).map { _ in Self.answers(using: &generator) }
    let maker = try PictureMaker.start()
    let bodies = try (0..<8).map { try maker.noise(seed: $0, width: 640, height: 480) }
    origin = TestOrigin { path, _ in
      guard let number = Int(path.dropFirst()), answers.indices.contains(number) else { return nil }
      return .sequence(
        answers[number].map { Self.behaviour($0, body: bodies[number % bodies.count]) })
    }
    self.answers = answers
  }

  var urls: [String] { answers.indices.map { "\(origin.baseURL)/\($0)" } }

  /// Of the requests in the origin's log, in their order: what each was answered.
  func answered(in snapshot: OriginSnapshot) -> [(request: OriginEvent, answer: Answer)] {
    var counts: [String: Int] = [:]
    return snapshot.starts().compactMap { event in
      guard let number = Int(event.path.dropFirst()), answers.indices.contains(number) else {
        return nil
      }
      let count = counts[event.path, default: 0]
      counts[event.path] = count + 1
      return (event, answers[number][min(count, answers[number].count - 1)])
    }
  }

  private static func answers(using generator: inout SeededGenerator) -> [Answer] {
    var answers: [Answer] = []
    let bad = Answer.allCases.filter { $0 != .picture }
    while Int.random(in: 0..<3, using: &generator) == 0 {
      answers.append(bad[Int.random(in: bad.indices, using: &generator)])
    }
    return answers + [.picture]
  }

  private static func behaviour(_ answer: Answer, body: [UInt8]) -> Behaviour {
    switch answer {
    case .unavailable: .status(503)
    case .retryAfter: .status(429, retryAfter: "\(retryAfterSeconds)")
    case .reset: picture(body, .reset(after: body.count / part))
    case .stall: picture(body, .stall(after: body.count / part))
    case .picture: picture(body, .drip(bytesPerSecond: bytesPerSecond))
    }
  }

  private static func picture(_ body: [UInt8], _ delivery: BodyDelivery) -> Behaviour {
    .resource(Resource(body, entityTag: "\"\(body.count)\"", delivery: delivery))
  }
}
