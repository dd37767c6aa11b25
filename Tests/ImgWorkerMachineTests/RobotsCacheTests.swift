import ImgModel
import Testing

@testable import ImgWorkerMachine

/// What is known of robots.txt, for how long, and what waits to know more.
struct RobotsCacheTests {
  private var cache = RobotsCache()
  private let now = WallTime(rawValue: 1_800_000_000_000)
  private let url: ImageURL

  init() throws {
    url = try ImageURL(parsing: TestDriver.url)
  }

  private mutating func wait() {
    cache.wait(RobotsCache.Check(url: url, step: .attach(1)))
  }

  private mutating func learn(_ rules: ClosedPath, expiresAt: WallTime = .distantFuture) -> Int {
    cache.learn(KnownRobots(rules, expiresAt: expiresAt), of: url.origin, at: now).count
  }

  @Test mutating func `an origin is unknown, and asked once a check waits for it`() {
    #expect(cache.verdict(of: url, at: now).summary == "unknown")
    wait()
    #expect(cache.verdict(of: url, at: now).summary == "asked")
  }

  @Test mutating func `rules decide what waited and what comes after`() {
    wait()
    wait()
    #expect(learn(ClosedPath(path: "/a")) == 2)
    #expect(cache.verdict(of: url, at: now).summary == "refused")
    #expect(learn(.none) == 0)
    #expect(cache.verdict(of: url, at: now).summary == "permitted")
  }

  @Test mutating func `rules are forgotten after a minute, or when they expire`() {
    _ = learn(.none)
    let later = now.advanced(by: RobotsCache.memoryTime)
    #expect(
      cache.verdict(of: url, at: later.advanced(by: .milliseconds(-1))).summary == "permitted")
    #expect(cache.verdict(of: url, at: later).summary == "unknown")
    _ = learn(.none, expiresAt: now.advanced(by: .milliseconds(5)))
    #expect(cache.verdict(of: url, at: now.advanced(by: .milliseconds(5))).summary == "unknown")
  }

  @Test mutating func `rules that were fetched hold a day, and count once they are stored`() {
    wait()
    let known = cache.receive(ClosedPath.none, of: url.origin, at: now)
    #expect(known.expiresAt == now.advanced(by: .seconds(24 * 3_600)))
    #expect(cache.verdict(of: url, at: now).summary == "asked")
    #expect(cache.rulesStored(of: url.origin, at: now).count == 1)
    #expect(cache.verdict(of: url, at: now).summary == "permitted")
    #expect(cache.rulesStored(of: url.origin, at: now).isEmpty)
  }

  @Test mutating func `an origin whose rules are not available is asked again`() {
    wait()
    #expect(cache.takeWaiting(for: url.origin).count == 1)
    #expect(cache.verdict(of: url, at: now).summary == "unknown")
  }

  @Test mutating func `the memory is emptied when it is full`() throws {
    _ = learn(.none)
    let long = ClosedPath(path: String(repeating: "x", count: RobotsCache.maximumByteCount))
    _ = cache.learn(
      KnownRobots(long, expiresAt: .distantFuture), of: "http://other.example", at: now)
    #expect(cache.verdict(of: url, at: now).summary == "unknown")
  }

  @Test mutating func `a URL that the rules cannot read is left to its transfer`() {
    struct Unreadable: RobotsRuleSet {
      let text = ""

      func permits(_ url: ImageURL) throws(Failure) -> Bool { throw Failure.broken }
    }
    _ = cache.learn(
      KnownRobots(Unreadable(), expiresAt: .distantFuture), of: url.origin, at: now)
    #expect(cache.verdict(of: url, at: now).summary == "permitted")
  }
}

extension RobotsCache.Verdict {
  fileprivate var summary: String {
    switch self {
    case .permitted: "permitted"
    case .refused: "refused"
    case .unknown(let isAsked): isAsked ? "asked" : "unknown"
    }
  }
}
