import ImgModel
import ImgWire
import Testing

@testable import ImgWorkerMachine

/// What a cancellation does at each stage of a lease.
struct CancellationTests {
  private var driver = TestDriver()

  @Test mutating func `a transfer is aborted with its last lease`() {
    driver.fetch([1])
    driver.attach([2])
    #expect(driver.cancel([1]).isEmpty)
    #expect(driver.cancel([2]) == ["cancel transfer 1"])
    #expect(driver.endTurn() == ["finished 1 cancelled, 2 cancelled"])
  }

  @Test mutating func `a transfer that waits for a slot is aborted with its last lease`() throws {
    driver.fetch([1])
    let url = try ImageURL(parsing: "http://other.example/a.jpg")
    driver.handle(.redirected(1, Redirect(url: url, leavesHost: true)))
    #expect(driver.cancel([1]) == ["cancel transfer 1"])
    #expect(driver.handle(.received(.followRedirects(TransferList(transfers: [1])))).isEmpty)
  }

  @Test mutating func `a lease that waits for a robots.txt to attach ends at once`() throws {
    driver.fetch([1])
    #expect(driver.attach([2], TestDriver.url, .obedient) == ["read robots http://example.com"])
    #expect(driver.cancel([2]).isEmpty)
    #expect(driver.endTurn() == ["finished 2 cancelled"])
    let rules = KnownRobots(ClosedPath.none, expiresAt: .distantFuture)
    let url = try ImageURL(parsing: TestDriver.url)
    #expect(driver.handle(.robotsRead(of: url, rules)).isEmpty)
  }

  @Test mutating func `a decode is skipped if it has not begun`() {
    driver.fetch([1])
    driver.receiveBody(of: 1)
    #expect(driver.cancel([1]) == ["cancel decode 1"])
    #expect(driver.handle(.decoded(1, .cancelled, time: nil)) == ["release body 1"])
    #expect(driver.endTurn() == ["transferred [1]", "finished 1 cancelled"])
  }

  @Test mutating func `a decode that has begun is dropped`() {
    driver.fetch([1])
    driver.receiveBody(of: 1)
    driver.cancel([1])
    #expect(driver.decode(1) == ["release body 1"])
    #expect(driver.endTurn() == ["transferred [1]", "finished 1 cancelled"])
  }

  @Test mutating func `a lease whose records are being stored is done`() {
    driver.fetch([1])
    driver.receiveBody(of: 1)
    driver.decode(1)
    #expect(driver.cancel([1]).isEmpty)
    driver.handle(.stored(1, .stored))
    #expect(driver.endTurn() == ["transferred [1]", "finished 1 done"])
  }

  @Test mutating func `a lease that waits for its partial body is cancelled after it`() {
    driver.fetch([1], TestDriver.url, .byProtocol)
    driver.fail(1, .unavailable, leftover: .partial)
    #expect(driver.cancel([1]).isEmpty)
    #expect(driver.endTurn().isEmpty)
    #expect(driver.handle(.partialStored(1)) == ["release body 1"])
    #expect(driver.endTurn() == ["finished 1 cancelled"])
  }

  @Test mutating func `a lease that is over is not cancelled`() {
    #expect(driver.cancel([1]).isEmpty)
    #expect(driver.endTurn().isEmpty)
  }
}
