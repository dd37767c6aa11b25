import ImgModel
import ImgWire
import Testing

@testable import ImgWorkerMachine

/// What waits for a robots.txt, and what its rules decide.
struct RobotsTests {
  private var driver = TestDriver()
  private let url: ImageURL
  private static let refused = Failure(
    stage: .fetch, code: .httpStatus, httpStatus: 503, detail: "the origin answered 503")

  init() throws {
    url = try ImageURL(parsing: TestDriver.url)
  }

  private func known(_ rules: ClosedPath) -> KnownRobots {
    KnownRobots(rules, expiresAt: .distantFuture)
  }

  // MARK: - Asking

  @Test mutating func `the store is read once for all that waits for an origin`() {
    #expect(driver.fetch([1, 2], TestDriver.url, .obedient) == ["read robots http://example.com"])
    #expect(driver.handle(.robotsRead(of: url, known(.none))) == ["start 1", "start 2"])
    #expect(driver.endTurn() == ["host updates"])
    #expect(driver.hostUpdates == [HostUpdates(robotsKnown: [1, 2])])
  }

  @Test
  mutating func `the origin is asked if the store has no rules, in place of the first transfer`() {
    driver.fetch([1], TestDriver.url, .obedient)
    #expect(driver.handle(.robotsRead(of: url, nil)) == ["fetch robots http://example.com"])
    #expect(driver.fetch([2], TestDriver.url, .obedient).isEmpty)
    #expect(
      driver.handle(.robotsFetched(origin: TestDriver.origin, .rules(ClosedPath.none)))
        == ["store robots http://example.com"])
    #expect(driver.handle(.robotsStored(origin: TestDriver.origin)).isEmpty)
    #expect(
      driver.endTurn() == ["host updates", "released [1, 2]"],
      "the pace of the host has counted one request")
    #expect(driver.hostUpdates.last?.robotsFetched == [RobotsFetch(from: "example.com")])
    #expect(driver.fetch([3], TestDriver.url, .obedient) == ["start 3"])
  }

  @Test mutating func `rules that cannot be stored are used at once, and their request counts`() {
    driver.fetch([1], TestDriver.url, .obedient)
    driver.handle(.robotsRead(of: url, nil))
    driver.handle(.robotsFetched(origin: TestDriver.origin, .rules(ClosedPath.none)))
    #expect(
      driver.handle(.robotsStored(origin: TestDriver.origin, isStored: false)) == ["start 1"])
    #expect(driver.endTurn() == ["host updates"])
    #expect(
      driver.hostUpdates == [
        HostUpdates(
          extraRequests: ["example.com"], robotsKnown: [1],
          robotsFetched: [RobotsFetch(from: "example.com")])
      ])
  }

  @Test(arguments: ["http", "https"])
  mutating func `a web page for a robots.txt is reported, unless it came over TLS`(
    scheme: String
  ) throws {
    let url = try ImageURL(parsing: "\(scheme)://example.com/a")
    driver.fetch([1], url.text, .obedient)
    driver.handle(.robotsRead(of: url, nil))
    driver.handle(.robotsFetched(origin: url.origin, .rules(ClosedPath.none), sign: .page))
    _ = driver.endTurn()
    let sign: NetworkSign? = scheme == "http" ? .page : nil
    #expect(
      driver.hostUpdates.last?.robotsFetched == [RobotsFetch(from: "example.com", sign: sign)])
  }

  @Test mutating func `a client that joins while the rules are awaited makes the transfer urgent`()
  {
    driver.fetch([1], TestDriver.url, .obedient)
    driver.handle(.received(.updates(1, [])))
    #expect(driver.handle(.robotsRead(of: url, known(.none))) == ["start 1"])
    #expect(driver.orders[1]?.isUrgent == true)
  }

  @Test mutating func `rules that were fetched and close a URL fail it at once`() {
    driver.fetch([1], TestDriver.url, .obedient)
    driver.handle(.robotsRead(of: url, nil))
    driver.handle(.robotsFetched(origin: TestDriver.origin, .rules(ClosedPath.all)))
    driver.handle(.robotsStored(origin: TestDriver.origin))
    #expect(driver.endTurn() == ["host updates", "finished 1 opted_out"])
  }

  @Test mutating func `a robots.txt for what attaches takes a token of the host`() {
    driver.fetch([1])
    driver.attach([2], TestDriver.url, .obedient)
    driver.handle(.robotsRead(of: url, nil))
    _ = driver.endTurn()
    #expect(driver.hostUpdates == [HostUpdates(extraRequests: ["example.com"])])
  }

  @Test mutating func `a robots.txt is asked for with the contact of the request`() throws {
    var request = ThumbnailRequest.obedient
    request.fetch.contact = try Contact("a@example.com")
    driver.fetch([1], TestDriver.url, request)
    #expect(
      driver.handle(.robotsRead(of: url, nil))
        == ["fetch robots http://example.com for a@example.com"])
  }

  @Test mutating func `rules are forgotten with the store that had them`() {
    driver.fetch([1], TestDriver.url, .obedient)
    driver.handle(.robotsRead(of: url, known(.none)))
    driver.handle(.storeReplaced)
    #expect(driver.fetch([2], TestDriver.url, .obedient) == ["read robots http://example.com"])
  }

  @Test mutating func `the crawl delay is told with each transfer, and is 30 s at most`() {
    driver.fetch([1], TestDriver.url, .obedient)
    let rules = ClosedPath(crawlDelay: .seconds(100))
    driver.handle(.robotsRead(of: url, known(rules)))
    #expect(driver.fetch([2], TestDriver.url, .obedient) == ["start 2"])
    _ = driver.endTurn()
    let delay = CrawlDelay(of: "example.com", .seconds(30))
    #expect(
      driver.hostUpdates == [HostUpdates(robotsKnown: [1, 2], crawlDelays: [delay, delay])])
  }

  @Test mutating func `a request that does not respect robots waits for nothing`() {
    #expect(driver.fetch([1]) == ["start 1"])
  }

  @Test mutating func `what needs no origin waits for nothing`() {
    #expect(driver.decode([1], "data:,a", .obedient) == ["decode 1 from url"])
    #expect(driver.decode([2], TestDriver.url, .obedient) == ["find original 2"])
  }

  // MARK: - Refusals

  @Test mutating func `rules that close a URL fail its transfer, and release other leases`() {
    driver.fetch([1], TestDriver.url, .obedient)
    driver.attach([2])
    driver.attach([3], TestDriver.url, .obedient)
    #expect(driver.handle(.robotsRead(of: url, known(.all))).isEmpty)
    #expect(driver.endTurn() == ["released [2]", "finished 1 opted_out, 3 opted_out"])
  }

  @Test mutating func `rules that close a URL let no lease attach that respects them`() {
    driver.fetch([1])
    driver.attach([2], TestDriver.url, .obedient)
    driver.handle(.robotsRead(of: url, known(.all)))
    #expect(driver.endTurn() == ["finished 2 opted_out"])
    #expect(driver.receiveBody(of: 1) == ["decode 1 from body 1"])
  }

  @Test mutating func `a lease that waits to attach decodes the body that came in meanwhile`() {
    driver.fetch([1])
    driver.attach([2], TestDriver.url, .obedient)
    driver.receiveBody(of: 1)
    #expect(driver.handle(.robotsRead(of: url, known(.none))) == ["decode 2 from body 1"])
  }

  @Test mutating func `a robots.txt that is not available fails what waits for it`() {
    driver.fetch([1], TestDriver.url, .obedient)
    driver.attach([2])
    driver.handle(.robotsRead(of: url, nil))
    driver.handle(
      .robotsFetched(
        origin: TestDriver.origin, .unavailable(Self.refused, isDeferred: false)))
    #expect(driver.endTurn() == ["released [2]", "finished 1 http_status"])
    guard case .failed(let failure, _)? = driver.results[1]?.outcome else {
      Issue.record("the lease did not fail")
      return
    }
    #expect(failure.detail.contains("robots.txt of http://example.com"))
    #expect(failure.isRetryable)
    driver.fetch([3], TestDriver.url, .obedient)
    #expect(driver.endTurn() == ["finished 3 http_status"], "it is not asked for again at once")
  }

  @Test mutating func `a proxy that fails for a robots.txt has failed, and not the file`() {
    let failure = Failure(stage: .fetch, code: .proxyFailure, detail: "the proxy: refused")
    driver.fetch([1], TestDriver.url, .obedient)
    driver.handle(.robotsRead(of: url, nil))
    let answer = RobotsAnswer.unavailable(failure, isDeferred: false)
    driver.handle(.robotsFetched(origin: TestDriver.origin, answer, sign: .unrouted))
    #expect(driver.endTurn() == ["finished 1 proxy_failure"])
    #expect(driver.results[1]?.outcome == .failed(failure))
    #expect(driver.results[1]?.sign == .unrouted)
  }

  @Test mutating func `a robots.txt that is deferred releases what waits for it`() {
    driver.fetch([1], TestDriver.url, .obedient)
    driver.attach([2], TestDriver.url, .obedient)
    driver.handle(.robotsRead(of: url, nil))
    driver.handle(
      .robotsFetched(origin: TestDriver.origin, .unavailable(Self.refused, isDeferred: true)))
    #expect(driver.endTurn() == ["released [1, 2]"])
  }

  // MARK: - While it waits

  @Test mutating func `a transfer whose leases left while it waited does not start`() {
    driver.fetch([1], TestDriver.url, .obedient)
    driver.cancel([1])
    #expect(driver.handle(.robotsRead(of: url, known(.none))).isEmpty)
  }

  @Test mutating func `a transfer starts for the leases that stay when its first one left`() {
    driver.fetch([1], TestDriver.url, .obedient)
    driver.attach([2])
    driver.cancel([1])
    #expect(driver.handle(.robotsRead(of: url, known(.none))) == ["start 1"])
    #expect(driver.receiveBody(of: 1) == ["decode 2 from body 1"])
  }
}

/// What is known of robots.txt, for how long, and what waits to know more.
struct RobotsCacheTests {
  private var cache = RobotsCache()
  private let now = WallTime(rawValue: 1_800_000_000_000)
  private let url: ImageURL

  init() throws {
    url = try ImageURL(parsing: TestDriver.url)
  }

  private mutating func wait() {
    cache.wait(RobotsCache.Check(url: url, contact: nil, step: .attach(1)))
  }

  private mutating func learn(_ rules: ClosedPath, expiresAt: WallTime = .distantFuture) -> Int {
    cache.learn(KnownRobots(rules, expiresAt: expiresAt), of: url.origin, at: now).count
  }

  @Test mutating func `an origin is unknown, and asked once a check waits for it`() {
    #expect(cache.verdict(of: url, at: now).summary == "unknown")
    wait()
    #expect(cache.verdict(of: url, at: now).summary == "asked")
  }

  @Test mutating func `rules are forgotten when they expire`() {
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

  @Test mutating func `an origin whose rules are not available is asked again after five seconds`()
    throws
  {
    wait()
    let failure = Failure(stage: .fetch, code: .httpStatus, httpStatus: 500, detail: "500")
    #expect(cache.fail(failure, of: url.origin, at: now).count == 1)
    let last = now.advanced(by: .milliseconds(4_999))
    for time in [now, last] {
      guard case .refused(failure) = cache.verdict(of: url, at: time) else {
        Issue.record("it is asked again at once")
        return
      }
    }
    for seconds in [-1, 5] {
      let time = now.advanced(by: .seconds(seconds))
      #expect(cache.verdict(of: url, at: time).summary == "unknown")
    }
    let silence = Failure(stage: .fetch, code: .timeout, detail: "no answer")
    _ = cache.fail(silence, of: "http://other.example", at: now)
    let other = try ImageURL(parsing: "http://other.example/a")
    #expect(cache.verdict(of: other, at: now).summary == "unknown", "its host is asked again")
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
      let crawlDelay: Duration? = nil
      let text = ""

      func permits(_ url: ImageURL) throws(Failure) -> Bool { throw Failure.broken }
    }
    _ = cache.learn(KnownRobots(Unreadable(), expiresAt: .distantFuture), of: url.origin, at: now)
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
