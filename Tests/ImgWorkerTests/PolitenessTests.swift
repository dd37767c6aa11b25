import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import ImgWorkerMachine
import TestFiles
import TestOrigin
import TestPictures
import Testing

@testable import ImgWorker

/// Leases that respect an opt-out or a robots.txt, beside others on the same transfer.
@Suite(.timeLimit(.minutes(20))) struct PolitenessTests {
  private let origin = TestOrigin()
  private let picture: [UInt8]
  private let worker: RunningWorker
  private let obedient = FetchOptions(respectsRobots: true)

  init() throws {
    picture = try PictureMaker.start().card(index: 1)
    worker = try RunningWorker()
  }

  private func batch(_ lease: LeaseID, _ fetch: FetchOptions, path: String = "/a") throws -> Batch {
    try Batch(lease, origin.baseURL + path, fetch: fetch)
  }

  /// The outcome of a lease, which is assigned again once its worker has asked for the robots.txt.
  private func outcome(_ lease: LeaseID) throws -> Outcome? {
    try worker.send(.fetch(batch(lease, obedient)))
    let said = try worker.messages(untilEnded: 1)
    guard said.released == [lease] else { return said.outcomes[lease] }
    return try worker.outcome(of: .fetch(batch(lease, obedient)))
  }

  /// Serves a robots.txt that waits until the test releases it.
  private func holdRobots(_ text: String) {
    origin.serve("/robots.txt", .body(Array(text.utf8), contentType: "text/plain", delivery: .hold))
  }

  // MARK: - robots.txt

  @Test func `a robots.txt is fetched once, before the pictures that it allows`() throws {
    for path in ["/a", "/b"] { origin.serve(path, .body(picture)) }
    holdRobots("User-agent: *\nDisallow: /c\n")
    try worker.send(.fetch(batch(1, obedient)))
    try worker.send(.fetch(batch(2, obedient, path: "/b")))
    try worker.send(.fetch(batch(3, obedient, path: "/c")))
    try worker.waitUntilHandled()
    #expect(origin.waitUntil { $0["/robots.txt"].inFlight == 1 })
    #expect(origin.totals().requests == 1)
    origin.release("/robots.txt")
    let said = try worker.messages(untilEnded: 3)
    #expect(said.released.sorted() == [1, 2])
    #expect(try worker.outcome(of: .fetch(batch(1, obedient)))?.width == 64)
    #expect(try worker.outcome(of: .fetch(batch(2, obedient, path: "/b")))?.width == 64)
    let failure = try #require(said.outcomes[3]?.failure)
    #expect(failure.code == .optedOut)
    #expect(failure.detail.contains("robots.txt"))
    #expect(!failure.isRetryable)
    #expect(origin.startOrder().first == "/robots.txt")
    #expect(Set(origin.startOrder()) == ["/robots.txt", "/a", "/b"])
  }

  @Test(arguments: [404, 403, 410])
  func `an origin without a robots.txt allows everything`(status: Int) throws {
    origin.serve("/robots.txt", .status(status))
    origin.serve("/a", .body(picture))
    #expect(try outcome(1)?.width == 64)
  }

  @Test(arguments: [503, 429])
  func `an unavailable robots.txt allows nothing, and is not asked for again at once`(
    status: Int
  ) throws {
    origin.serve("/robots.txt", .sequence([.status(status), .status(404)]))
    origin.serve("/a", .body(picture))
    let failure = try #require(try outcome(1)?.failure)
    #expect(failure.code == .httpStatus)
    #expect(failure.httpStatus == status)
    #expect(failure.isRetryable)
    #expect(failure.detail.contains("robots.txt"))
    #expect(origin.startOrder() == ["/robots.txt"])
    #expect(try outcome(2)?.failure == failure)
    #expect(origin.startOrder() == ["/robots.txt"])
  }

  // MARK: - robots.txt of redirects

  private static let closed = Behaviour.body(Array("User-agent: *\nDisallow: /b\n".utf8))

  @Test(arguments: [true, false])
  func `a redirect to another origin is checked by the robots.txt there`(isClosed: Bool) throws {
    let other = TestOrigin()
    other.serve("/robots.txt", isClosed ? Self.closed : .status(404))
    other.serve("/b", .body(picture))
    origin.serve("/robots.txt", .status(404))
    origin.serve("/a", .redirect(to: other.baseURL + "/b"))
    let outcome = try outcome(1)
    if isClosed {
      #expect(outcome?.failureCode == .optedOut)
      #expect(outcome?.failure?.detail.contains(other.baseURL) == true)
      #expect(other.startOrder() == ["/robots.txt"])
    } else {
      #expect(outcome?.width == 64)
      #expect(other.startOrder() == ["/robots.txt", "/b"])
    }
    // The robots.txt there; the own one takes the place of a transfer, and the redirect has a slot.
    #expect(worker.hostUpdates.extraRequests == ["127.0.0.1"])
  }

  @Test func `nothing is sent to another host before the transfer has a slot there`() throws {
    let other = TestOrigin()
    other.serve("/robots.txt", .status(404))
    other.serve("/b", .body(picture))
    origin.serve("/robots.txt", .status(404))
    origin.serve("/a", .redirect(to: "http://localhost:\(other.port)/b"))
    worker.givesSlots = false
    try worker.send(.fetch(batch(1, obedient)))
    #expect(try worker.messages(untilEnded: 1).released == [1])
    try worker.send(.fetch(batch(1, obedient)))
    let said = try worker.messages { !$0.redirections.isEmpty }
    #expect(said.redirections.map(\.host) == ["localhost"])
    #expect(other.totals().requests == 0)
    try worker.send(.followRedirects([TransferID(startedBy: 1)]))
    #expect(try worker.messages(untilEnded: 1).outcomes[1]?.width == 64)
    #expect(other.startOrder() == ["/robots.txt", "/b"])
  }

  // MARK: - Host updates

  @Test
  func `a robots.txt takes the place of a transfer, which says the next time that it is known`()
    throws
  {
    origin.serve("/robots.txt", .status(404))
    origin.serve("/a", .body(picture, delivery: .hold))
    try worker.send(.fetch(batch(1, obedient)))
    #expect(try worker.messages(untilEnded: 1).released == [1])
    #expect(worker.hostUpdates.robotsKnown.isEmpty)
    try worker.send(.fetch(batch(1, obedient)))
    _ = try worker.messages { _ in worker.hostUpdates.robotsKnown == [1] }
    #expect(origin.waitUntil { $0["/a"].inFlight == 1 })
    origin.release("/a")
    _ = try worker.messages(untilEnded: 1)
    try worker.send(.fetch(batch(2, obedient)))
    _ = try worker.messages(untilEnded: 1)
    #expect(worker.hostUpdates.robotsKnown == [1, 2])
    #expect(worker.hostUpdates.extraRequests.isEmpty)
  }

  // MARK: - Rules that are known

  @Test func `a robots.txt that the store has is not fetched`() throws {
    origin.serve("/a", .body(picture))
    try worker.store.current().keep(
      .init(
        text: "User-agent: *\nDisallow: /a\n",
        expiresAt: worker.now.advanced(by: .seconds(3_600))), of: origin.baseURL)
    #expect(try worker.outcome(of: .fetch(batch(1, obedient)))?.failureCode == .optedOut)
    #expect(origin.totals().requests == 0)
  }
}

/// Rules of robots.txt that the store does not take, as on a full disk.
@Suite struct UnstoredRobotsTests {
  private func record(byteCount: Int = 0) -> RobotsRecord {
    RobotsRecord(
      text: "User-agent: *\nDisallow: /\n#" + String(repeating: "x", count: byteCount),
      expiresAt: WallTime.now.advanced(by: .seconds(3_600)))
  }

  @Test func `the worker remembers them in place of the store`() throws {
    let directory = TestDirectory()
    let path = directory.file("store")
    do { _ = try SharedStore(directory: path, access: .readWrite(budgetByteCount: 10 << 20)) }
    let inbox = try Mailbox<Input>()
    var driver = try StoreDriver(
      try SharedStore(directory: path, access: .readOnly), credits: Worker.credits, inbox: inbox)
    driver.write(.putRobots(record(), origin: "http://a.test"))
    driver.finish()
    let ends = inbox.takeAll().map(\.event)
    guard ends.count == 1, case .robotsStored("http://a.test", isStored: false) = ends[0] else {
      Issue.record("\(ends)")
      return
    }
    let known = try #require(driver.queries.robots(of: "http://a.test", at: .now))
    #expect(try !known.rules.permits(ImageURL(parsing: "http://a.test/a")))
    #expect(driver.queries.robots(of: "http://b.test", at: .now) == nil)
  }

  @Test func `they take a bounded part of its memory`() {
    let robots = UnstoredRobots()
    let largest = UnstoredRobots.maximumByteCount / RobotsRules.maximumByteCount
    for number in 0..<largest - 1 {
      robots.keep(record(byteCount: RobotsRules.maximumByteCount), of: "\(number)")
    }
    #expect(robots.record(of: "0", at: .now) != nil)
    robots.keep(record(byteCount: RobotsRules.maximumByteCount), of: "a")
    robots.keep(record(byteCount: RobotsRules.maximumByteCount), of: "b")
    #expect(robots.record(of: "0", at: .now) == nil)
    #expect(robots.record(of: "b", at: .now) != nil)
    robots.forget()
    #expect(robots.record(of: "b", at: .now) == nil)
  }
}
