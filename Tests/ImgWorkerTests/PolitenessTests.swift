import ImgModel
import ImgStore
import ImgWire
import ImgWorker
import TestOrigin
import TestPictures
import Testing

/// Leases that respect an opt-out or a robots.txt, beside others on the same transfer.
@Suite(.timeLimit(.minutes(20))) struct PolitenessTests {
  private let origin: TestOrigin
  private let picture: [UInt8]
  private let worker: RunningWorker
  private let respectful = FetchOptions(respectsOptOut: true)
  private let obedient = FetchOptions(respectsRobots: true)
  private static let tag = Header("X-Robots-Tag", "noai")

  init() throws {
    origin = try TestOrigin()
    picture = try PictureMaker.start().card(index: 1)
    worker = try RunningWorker()
  }

  private func batch(
    _ lease: LeaseID, _ fetch: FetchOptions, path: String = "/a"
  ) throws -> Batch {
    Batch(
      ThumbnailRequest(variant: try Variant(ImageVariant(width: 64, height: 64)), fetch: fetch),
      retention: Retention(after: .seconds(60)), isUrgent: false,
      items: [Assignment(lease: lease, url: origin.baseURL + path)])
  }

  /// Serves a robots.txt that waits until the test releases it.
  private func holdRobots(_ text: String) {
    origin.serve("/robots.txt", .body(Array(text.utf8), contentType: "text/plain", delivery: .hold))
  }

  // MARK: - X-Robots-Tag

  @Test func `an opt-out ends a transfer that respects it, and releases the other leases`() throws {
    origin.serve("/a", .body(picture, headers: [Self.tag], delivery: .hold))
    try worker.send(.fetch(batch(1, respectful)))
    try worker.send(.attach(batch(2, .standard)))
    try worker.send(.attach(batch(3, respectful)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let said = try worker.messages(untilEnded: 3)
    #expect(said.outcomes[1]?.failureCode == .optedOut)
    #expect(said.outcomes[3]?.failureCode == .optedOut)
    #expect(said.released == [2])
    #expect(said.transferred.isEmpty)
  }

  @Test func `an attached lease that respects an opt-out fails when the body is in`() throws {
    origin.serve("/a", .body(picture, headers: [Self.tag], delivery: .hold))
    try worker.send(.fetch(batch(1, .standard)))
    try worker.send(.attach(batch(2, respectful)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let said = try worker.messages(untilEnded: 2)
    #expect(said.transferred == [1, 2])
    #expect(said.outcomes[1]?.width == 64)
    #expect(said.outcomes[2]?.failureCode == .optedOut)
    #expect(origin.counters("/a").requests == 1)
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
    #expect(said.outcomes[1]?.width == 64)
    #expect(said.outcomes[2]?.width == 64)
    guard case .failed(let failure, _) = said.outcomes[3] else {
      Issue.record("a closed picture was fetched")
      return
    }
    #expect(failure.code == .optedOut)
    #expect(failure.detail.contains("robots.txt"))
    #expect(!failure.isRetryable)
    #expect(origin.startOrder().first == "/robots.txt")
    #expect(Set(origin.startOrder()) == ["/robots.txt", "/a", "/b"])
  }

  @Test func `a lease that ignores robots.txt is released when the transfer is closed`() throws {
    holdRobots("User-agent: imgctl\nDisallow: /\n")
    try worker.send(.fetch(batch(1, obedient)))
    try worker.send(.attach(batch(2, .standard)))
    try worker.waitUntilHandled()
    origin.release("/robots.txt")
    let said = try worker.messages(untilEnded: 2)
    #expect(said.outcomes[1]?.failureCode == .optedOut)
    #expect(said.released == [2])
  }

  @Test func `a lease that respects robots.txt does not attach to a closed URL`() throws {
    origin.serve("/a", .body(picture, delivery: .hold))
    origin.serve("/robots.txt", .body(Array("User-agent: *\nDisallow: /\n".utf8)))
    try worker.send(.fetch(batch(1, .standard)))
    try worker.send(.attach(batch(2, obedient)))
    #expect(try worker.messages(untilEnded: 1).outcomes[2]?.failureCode == .optedOut)
    origin.release("/a")
    #expect(try worker.messages(untilEnded: 1).outcomes[1]?.width == 64)
  }

  @Test func `a lease that is cancelled while it waits for a robots.txt starts nothing`() throws {
    holdRobots("")
    origin.serve("/a", .body(picture))
    try worker.send(.fetch(batch(1, obedient)))
    try worker.waitUntilHandled()
    try worker.send(.cancel(LeaseList(leases: [1])))
    #expect(try worker.messages(untilEnded: 1).outcomes == [1: .cancelled])
    origin.release("/robots.txt")
    try worker.send(.fetch(batch(2, obedient)))
    #expect(try worker.messages(untilEnded: 1).outcomes[2]?.width == 64)
    #expect(origin.startOrder() == ["/robots.txt", "/a"])
  }

  @Test(arguments: [404, 403, 410])
  func `an origin without a robots.txt allows everything`(status: Int) throws {
    origin.serve("/robots.txt", .status(status))
    origin.serve("/a", .body(picture))
    try worker.send(.fetch(batch(1, obedient)))
    #expect(try worker.messages(untilEnded: 1).outcomes[1]?.width == 64)
  }

  @Test(arguments: [503, 429])
  func `an origin whose robots.txt is unavailable allows nothing, and is asked again`(
    status: Int
  ) throws {
    origin.serve("/robots.txt", .sequence([.status(status), .status(404)]))
    origin.serve("/a", .body(picture))
    try worker.send(.fetch(batch(1, obedient)))
    let said = try worker.messages(untilEnded: 1)
    guard case .failed(let failure, _) = said.outcomes[1] else {
      Issue.record("a picture was fetched")
      return
    }
    #expect(failure.code == .httpStatus)
    #expect(failure.httpStatus == status)
    #expect(failure.isRetryable)
    #expect(failure.detail.contains("robots.txt"))
    #expect(origin.startOrder() == ["/robots.txt"])
    try worker.send(.fetch(batch(2, obedient)))
    #expect(try worker.messages(untilEnded: 1).outcomes[2]?.width == 64)
    #expect(origin.startOrder() == ["/robots.txt", "/robots.txt", "/a"])
  }

  @Test(arguments: [("gzip", Failure.Code.optedOut), ("br", .invalidResponse)])
  func `a compressed robots.txt is read or refused`(
    coding: String, code: Failure.Code
  ) throws {
    origin.serve("/a", .body(picture))
    origin.serve(
      "/robots.txt",
      .body(
        Self.compressed, contentType: "text/plain", headers: [Header("Content-Encoding", coding)]))
    try worker.send(.fetch(batch(1, obedient)))
    #expect(try worker.messages(untilEnded: 1).outcomes[1]?.failureCode == code)
    #expect(origin.counters("/a").requests == 0)
  }

  /// `User-agent: *` and `Disallow: /`, a line each, as gzip (RFC 1952).
  private static let compressed: [UInt8] = [
    0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x0B, 0x2D, 0x4E, 0x2D, 0xD2, 0x4D,
    0x4C, 0x4F, 0xCD, 0x2B, 0xB1, 0x52, 0xD0, 0xE2, 0x72, 0xC9, 0x2C, 0x4E, 0xCC, 0xC9, 0xC9, 0x2F,
    0xB7, 0x52, 0xD0, 0xE7, 0x02, 0x00, 0x42, 0x84, 0xA4, 0x8F, 0x1A, 0x00, 0x00, 0x00,
  ]

  // MARK: - robots.txt of redirects

  private static let closed = Behaviour.body(Array("User-agent: *\nDisallow: /b\n".utf8))

  private func failure(_ lease: LeaseID, in said: RunningWorker.Said) throws -> Failure {
    guard case .failed(let failure, _) = said.outcomes[lease] else {
      throw RunningWorker.Unexpected()
    }
    return failure
  }

  @Test func `a redirect that robots.txt closes is not followed`() throws {
    origin.serve("/robots.txt", Self.closed)
    origin.serve("/a", .redirect(to: "/b"))
    try worker.send(.fetch(batch(1, obedient)))
    let said = try worker.messages(untilEnded: 1)
    #expect(try failure(1, in: said).code == .optedOut)
    #expect(said.redirected == [1])
    #expect(origin.startOrder() == ["/robots.txt", "/a"])
  }

  @Test(arguments: [true, false])
  func `a redirect to another origin is checked by the robots.txt there`(
    isClosed: Bool
  ) throws {
    let other = try TestOrigin()
    other.serve("/robots.txt", isClosed ? Self.closed : .status(404))
    other.serve("/b", .body(picture))
    origin.serve("/robots.txt", .status(404))
    origin.serve("/a", .redirect(to: other.baseURL + "/b"))
    try worker.send(.fetch(batch(1, obedient)))
    let said = try worker.messages(untilEnded: 1)
    if isClosed {
      #expect(try failure(1, in: said).detail.contains(other.baseURL))
      #expect(other.startOrder() == ["/robots.txt"])
    } else {
      #expect(said.outcomes[1]?.width == 64)
      #expect(other.startOrder() == ["/robots.txt", "/b"])
    }
    let count = isClosed ? 2 : 3
    #expect(worker.hostUpdates.extraRequests == Array(repeating: "127.0.0.1", count: count))
  }

  @Test func `nothing is sent to another host before the transfer has a slot there`() throws {
    let other = try TestOrigin()
    other.serve("/robots.txt", .status(404))
    other.serve("/b", .body(picture))
    origin.serve("/robots.txt", .status(404))
    origin.serve("/a", .redirect(to: "http://localhost:\(other.port)/b"))
    worker.givesSlots = false
    try worker.send(.fetch(batch(1, obedient)))
    let said = try worker.messages { !$0.redirections.isEmpty }
    #expect(said.redirections.map(\.host) == ["localhost"])
    #expect(other.totals().requests == 0)
    try worker.send(.followRedirects(TransferList(transfers: [TransferID(startedBy: 1)])))
    #expect(try worker.messages(untilEnded: 1).outcomes[1]?.width == 64)
    #expect(other.startOrder() == ["/robots.txt", "/b"])
  }

  @Test(arguments: [false, true])
  func `a redirect on the same host is reported as an extra request`(
    respectsRobots: Bool
  ) throws {
    origin.serve("/robots.txt", .status(404))
    origin.serve("/a", .redirect(to: "/b"))
    origin.serve("/b", .body(picture))
    try worker.send(.fetch(batch(1, respectsRobots ? obedient : .standard)))
    #expect(try worker.messages(untilEnded: 1).outcomes[1]?.width == 64)
    let count = respectsRobots ? 2 : 1
    #expect(worker.hostUpdates.extraRequests == Array(repeating: "127.0.0.1", count: count))
  }

  @Test func `a redirect to an origin whose robots.txt is unavailable is not followed`() throws {
    let other = try TestOrigin()
    other.serve("/robots.txt", .status(503))
    origin.serve("/robots.txt", .status(404))
    origin.serve("/a", .redirect(to: other.baseURL + "/b"))
    try worker.send(.fetch(batch(1, obedient)))
    try worker.send(.attach(batch(2, .standard)))
    let said = try worker.messages(untilEnded: 2)
    #expect(try failure(1, in: said).httpStatus == 503)
    #expect(try failure(1, in: said).isRetryable)
    // The host that redirected is healthy.
    #expect(said.redirected == [1])
    #expect(said.released == [2])
    #expect(other.counters("/b").requests == 0)
  }

  @Test func `a lease that respects robots.txt does not get a body behind an unchecked redirect`()
    throws
  {
    try worker.store.current().keep(
      .init(text: "", expiresAt: worker.now.advanced(by: .seconds(3_600))),
      of: origin.baseURL)
    origin.serve("/a", .redirect(to: "/b"))
    origin.serve("/b", .body(picture, delivery: .hold))
    try worker.send(.fetch(batch(1, .standard)))
    try #require(origin.waitUntil { $0["/b"].inFlight == 1 })
    try worker.send(.attach(batch(2, obedient)))
    try worker.waitUntilHandled()
    origin.release("/b")
    let said = try worker.messages(untilEnded: 2)
    #expect(said.outcomes[1]?.width == 64)
    #expect(said.released == [2])
  }

  @Test func `a lease that is cancelled while its redirect is checked sends nothing more`() throws {
    let other = try TestOrigin()
    other.serve("/robots.txt", .response(Response(status: 404, delivery: .hold)))
    other.serve("/b", .body(picture))
    origin.serve("/robots.txt", .status(404))
    origin.serve("/a", .redirect(to: other.baseURL + "/b"))
    try worker.send(.fetch(batch(1, obedient)))
    try #require(other.waitUntil { $0["/robots.txt"].inFlight == 1 })
    try worker.send(.cancel(LeaseList(leases: [1])))
    #expect(try worker.messages(untilEnded: 1).outcomes == [1: .cancelled])
    other.release("/robots.txt")
    try worker.send(.fetch(batch(2, obedient)))
    #expect(try worker.messages(untilEnded: 1).outcomes[2]?.width == 64)
    #expect(other.counters("/b").requests == 1)
  }

  // MARK: - Host updates

  @Test func `the fetch of a robots.txt is reported at once, and again when it is known`() throws {
    holdRobots("")
    origin.serve("/a", .body(picture, delivery: .hold))
    try worker.send(.fetch(batch(1, obedient)))
    _ = try worker.messages { _ in worker.hostUpdates.extraRequests == ["127.0.0.1"] }
    #expect(worker.hostUpdates.robotsKnown.isEmpty)
    origin.release("/robots.txt")
    _ = try worker.messages { _ in worker.hostUpdates.robotsKnown == [1] }
    #expect(origin.waitUntil { $0["/a"].inFlight == 1 })
    origin.release("/a")
    _ = try worker.messages(untilEnded: 1)
    try worker.send(.fetch(batch(2, obedient)))
    _ = try worker.messages(untilEnded: 1)
    #expect(worker.hostUpdates.robotsKnown == [1, 2])
    #expect(worker.hostUpdates.extraRequests.count == 1)
  }

  @Test func `leases of a host in a cooldown are released without a request`() throws {
    origin.serve("/a", .status(429, retryAfter: "60"))
    try worker.send(.fetch(batch(1, .standard)))
    #expect(try failure(1, in: worker.messages(untilEnded: 1)).httpStatus == 429)
    #expect(
      worker.hostUpdates.cooldowns == [
        HostCooldown(host: "127.0.0.1", origin: origin.baseURL, seconds: 60, httpStatus: 429)
      ])
    try worker.send(.fetch(batch(2, .standard)))
    try worker.send(.attach(batch(3, .standard)))
    try worker.send(.fetch(batch(4, obedient)))
    #expect(try Set(worker.messages(untilEnded: 3).released) == [2, 3, 4])
    #expect(origin.totals().requests == 1)
  }

  // MARK: - Rules that are known

  @Test func `a thumbnail made from a stored original needs no robots.txt`() throws {
    try worker.keepOriginal(of: ImageURL(parsing: origin.baseURL + "/a"), picture)
    try worker.send(.attach(batch(1, obedient)))
    #expect(try worker.messages(untilEnded: 1).outcomes[1]?.width == 64)
    #expect(origin.totals().requests == 0)
  }

  @Test func `a robots.txt that the store has is not fetched`() throws {
    origin.serve("/a", .body(picture))
    try worker.store.current().keep(
      .init(
        text: "User-agent: *\nDisallow: /a\n",
        expiresAt: worker.now.advanced(by: .seconds(3_600))), of: origin.baseURL)
    try worker.send(.fetch(batch(1, obedient)))
    #expect(try worker.messages(untilEnded: 1).outcomes[1]?.failureCode == .optedOut)
    #expect(origin.totals().requests == 0)
  }
}
