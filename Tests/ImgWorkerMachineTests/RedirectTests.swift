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
    driver.handle(.received(.followRedirects(TransferList(transfers: [1]))))
  }

  private mutating func fetchObediently() {
    driver.fetch([1], TestDriver.url, .obedient)
    driver.handle(
      .robotsRead(of: url, KnownRobots(ClosedPath.none, expiresAt: .distantFuture)))
    _ = driver.endTurn()
  }

  @Test mutating func `a redirect to another host waits for a slot, which is not its time`() {
    driver.fetch([1])
    #expect(driver.handle(.redirected(1, Redirect(url: target, leavesHost: true))).isEmpty)
    #expect(driver.endTurn() == ["redirected [1]"])
    driver.advance(by: .seconds(3))
    #expect(grantSlot() == ["follow 1 after 3.0 seconds"])
    #expect(grantSlot().isEmpty, "a slot is used once")
  }

  @Test mutating func `a redirect on the same host is followed at once and counted`() {
    driver.fetch([1])
    #expect(driver.handle(.redirected(1, Redirect(url: url, leavesHost: false))) == ["follow 1"])
    _ = driver.endTurn()
    #expect(driver.hostUpdates == [HostUpdates(extraRequests: ["example.com"])])
  }

  @Test mutating func `the target's robots.txt is asked for once there is a slot`() {
    fetchObediently()
    #expect(driver.handle(.redirected(1, Redirect(url: target, leavesHost: true))).isEmpty)
    #expect(grantSlot() == ["read robots http://other.example"])
    #expect(
      driver.handle(
        .robotsRead(of: target, KnownRobots(ClosedPath.none, expiresAt: .distantFuture)))
        == ["follow 1"])
  }

  @Test mutating func `a redirect that robots.txt closes ends the transfer`() {
    fetchObediently()
    driver.attach([2])
    driver.handle(.redirected(1, Redirect(url: target, leavesHost: true)))
    _ = grantSlot()
    let rules = KnownRobots(ClosedPath(path: "/b"), expiresAt: .distantFuture)
    #expect(driver.handle(.robotsRead(of: target, rules)) == ["cancel transfer 1"])
    #expect(driver.endTurn() == ["redirected [1]", "released [2]", "finished 1 opted_out"])
    #expect(driver.results[1]?.wasRedirected == true)
  }

  @Test(arguments: [true, false])
  mutating func `a redirect fails if the target's robots.txt is not available`(isDeferred: Bool) {
    fetchObediently()
    driver.handle(.redirected(1, Redirect(url: target, leavesHost: true)))
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
    #expect(driver.handle(.redirected(1, Redirect(url: target, leavesHost: true))).isEmpty)
    #expect(driver.endTurn() == ["finished 1 cancelled"])
  }
}
