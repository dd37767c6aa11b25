import ImgModel
import ImgWire
import Testing

@testable import ImgWorkerMachine

/// Redirects that wait for slots and for rules.
struct RedirectTests {
  private var driver = TestDriver()
  private let target: ImageURL
  private let url: ImageURL

  init() throws {
    target = try ImageURL(parsing: "http://other.example/b.jpg")
    url = try ImageURL(parsing: TestDriver.url)
  }

  private mutating func grantSlot() -> [String] {
    driver.handle(.received(.followRedirects([1])))
  }

  private mutating func fetchObediently() {
    driver.fetch([1], TestDriver.url, .obedient)
    driver.handle(.robotsRead(of: url, KnownRobots(ClosedPath.none, expiresAt: .distantFuture)))
    _ = driver.endTurn()
  }

  @Test(arguments: ["http://other.example/b.jpg", "http://example.com/b.jpg"])
  mutating func `a redirect waits for a slot, also within a host, which is not its time`(
    target: String
  ) throws {
    driver.fetch([1])
    #expect(driver.handle(.redirected(1, try ImageURL(parsing: target))).isEmpty)
    #expect(driver.endTurn() == ["redirected [1]"])
    driver.advance(by: .seconds(3))
    #expect(grantSlot() == ["follow 1 after 3.0 seconds"])
    #expect(grantSlot().isEmpty, "a slot is used once")
  }

  @Test mutating func `the target's robots.txt is asked for once there is a slot`() {
    fetchObediently()
    #expect(driver.handle(.redirected(1, target)).isEmpty)
    #expect(grantSlot() == ["read robots http://other.example"])
    #expect(
      driver.handle(
        .robotsRead(of: target, KnownRobots(ClosedPath.none, expiresAt: .distantFuture)))
        == ["follow 1"])
  }

  @Test mutating func `a redirect that robots.txt closes ends the transfer`() {
    fetchObediently()
    driver.attach([2])
    driver.handle(.redirected(1, target))
    _ = grantSlot()
    let rules = KnownRobots(ClosedPath(path: "/b"), expiresAt: .distantFuture)
    #expect(driver.handle(.robotsRead(of: target, rules)) == ["cancel transfer 1"])
    #expect(driver.endTurn() == ["redirected [1]", "released [2]", "finished 1 opted_out"])
    #expect(driver.results[1]?.wasRedirected == true)
  }

  @Test(arguments: [true, false])
  mutating func `a redirect fails if the target's robots.txt is not available`(isDeferred: Bool) {
    fetchObediently()
    driver.handle(.redirected(1, target))
    _ = grantSlot()
    driver.handle(.robotsRead(of: target, nil))
    #expect(
      driver.handle(
        .robotsFetched(
          origin: target.origin, .unavailable(.unavailable, isDeferred: isDeferred)))
        == ["cancel transfer 1"])
    #expect(driver.endTurn() == ["host updates", "redirected [1]", "finished 1 http_status"])
  }

  @Test mutating func `a redirect of a transfer that is over is ignored`() {
    driver.fetch([1])
    driver.cancel([1])
    #expect(driver.handle(.redirected(1, target)).isEmpty)
    #expect(driver.endTurn() == ["finished 1 cancelled"])
  }
}

/// Redirects to where not all leases of a transfer permit them.
struct RedirectOriginsTests {
  private var driver = TestDriver()
  private let away: ImageURL
  private let within: ImageURL
  private let listed: ThumbnailRequest

  init() throws {
    away = try ImageURL(parsing: "http://user:secret@other.example:8080/hidden?key=1")
    within = try ImageURL(parsing: "http://example.com/b.jpg")
    listed = .sample(redirectOrigins: try Self.list("http://example.com"))
  }

  private static func list(_ pattern: String) throws -> OriginList {
    try OriginList([OriginPattern(parsing: pattern)])
  }

  private mutating func grantSlot() -> [String] {
    driver.handle(.received(.followRedirects([1])))
  }

  // MARK: - Transfers of one request

  @Test mutating func `a redirect that no lease permits is not followed`() {
    driver.fetch([1], TestDriver.url, listed)
    driver.attach([2], TestDriver.url, listed)
    #expect(driver.handle(.redirected(1, away)) == ["cancel transfer 1"])
    #expect(driver.endTurn() == ["finished 1 blocked_origin, 2 blocked_origin"])
    #expect(driver.results[1]?.wasRedirected == true)
    #expect(driver.attach([3]) == ["find original 3"], "no lease attaches to a refused transfer")
  }

  @Test mutating func `a redirect that the lease permits is followed`() {
    driver.fetch([1], TestDriver.url, listed)
    #expect(driver.handle(.redirected(1, within)).isEmpty)
    #expect(grantSlot() == ["follow 1"])
    #expect(driver.receiveBody(of: 1, wasRedirected: true) == ["decode 1 from body 1"])
  }

  @Test mutating func `a redirect out of a permitted path is not followed`() throws {
    let list = try Self.list("example.com/a.jpg")
    driver.fetch([1], TestDriver.url, .sample(redirectOrigins: list))
    #expect(driver.handle(.redirected(1, within)) == ["cancel transfer 1"])
    #expect(driver.endTurn() == ["finished 1 blocked_origin"])
  }

  @Test mutating func `each redirect of a chain must be permitted`() {
    driver.fetch([1], TestDriver.url, listed)
    driver.handle(.redirected(1, within))
    #expect(driver.endTurn() == ["redirected [1]"])
    #expect(grantSlot() == ["follow 1"])
    #expect(driver.handle(.redirected(1, away)) == ["cancel transfer 1"])
    #expect(driver.endTurn() == ["finished 1 blocked_origin"])
  }

  @Test mutating func `a robots.txt of an origin that is not permitted is not asked for`() throws {
    let request = ThumbnailRequest.sample(
      respectsRobots: true, redirectOrigins: try Self.list("http://example.com"))
    driver.fetch([1], TestDriver.url, request)
    let rules = KnownRobots(ClosedPath.none, expiresAt: .distantFuture)
    driver.handle(.robotsRead(of: try ImageURL(parsing: TestDriver.url), rules))
    #expect(driver.handle(.redirected(1, away)) == ["cancel transfer 1"])
  }

  @Test mutating func `nothing stale is served in place of a refused redirect`() throws {
    let list = try Self.list("http://example.com")
    let fetch = FetchOptions(cachePolicy: .byProtocol, redirectOrigins: list)
    driver.fetch([1], TestDriver.url, ThumbnailRequest(variant: .standard, fetch: fetch))
    #expect(driver.handle(.redirected(1, away)) == ["cancel transfer 1"])
    #expect(driver.endTurn() == ["finished 1 blocked_origin"])
  }

  @Test mutating func `the failure names the host, and no other part of the URL`() {
    driver.fetch([1], TestDriver.url, listed)
    driver.handle(.redirected(1, away))
    _ = driver.endTurn()
    guard case .failed(let failure, _)? = driver.results[1]?.outcome else {
      Issue.record("the lease did not fail")
      return
    }
    #expect(failure.stage == .fetch && !failure.isRetryable)
    #expect(failure.detail == "a redirect leads to other.example, to a URL that is not permitted")
  }

  // MARK: - Transfers of several requests

  @Test(arguments: [1, 2] as [LeaseID])
  mutating func `a transfer continues for the leases that permit its redirect`(refused: LeaseID) {
    driver.fetch([1], TestDriver.url, refused == 1 ? listed : .sample)
    driver.attach([2], TestDriver.url, refused == 2 ? listed : .sample)
    let permitted: LeaseID = refused == 1 ? 2 : 1
    #expect(driver.handle(.redirected(1, away)).isEmpty)
    #expect(driver.endTurn() == ["redirected [1]", "finished \(refused.rawValue) blocked_origin"])
    #expect(grantSlot() == ["follow 1"])
    #expect(
      driver.receiveBody(of: 1, wasRedirected: true)
        == ["decode \(permitted.rawValue) from body 1"])
    #expect(driver.endTurn() == ["transferred [\(permitted.rawValue)]"])
  }

  @Test(arguments: [false, true])
  mutating func `a lease does not attach behind a redirect it does not permit`(isReceived: Bool) {
    driver.fetch([1])
    driver.handle(.redirected(1, away))
    _ = grantSlot()
    if isReceived { driver.receiveBody(of: 1, wasRedirected: true) }
    _ = driver.endTurn()
    #expect(driver.attach([2], TestDriver.url, listed).isEmpty)
    #expect(driver.endTurn() == ["finished 2 blocked_origin"])
    #expect(driver.results[2]?.wasRedirected == true)
  }

  @Test mutating func `a lease attaches behind redirects that it permits`() {
    driver.fetch([1])
    driver.handle(.redirected(1, within))
    _ = grantSlot()
    driver.attach([2], TestDriver.url, listed)
    #expect(
      driver.receiveBody(of: 1, wasRedirected: true)
        == ["decode 1 from body 1", "decode 2 from body 1"])
  }
}
