import ImgModel
import ImgSystem
import TestOrigin
import Testing

@testable import ImgFetch

@Suite(.timeLimit(.minutes(20))) struct LoopTurnsTests {
  @Test func `a transfer has a part of each turn, whatever the others take`() {
    let turns = LoopTurns()
    for _ in 0..<LoopTurns.maximumCallCount {
      #expect(turns.permitsCall(of: 1, byteCount: 16_384))
    }
    #expect(!turns.permitsCall(of: 1, byteCount: 16_384))
    #expect(turns.permitsCall(of: 2, byteCount: 16_384))
    _ = turns.begin()
    #expect(turns.permitsCall(of: 1, byteCount: 16_384))
  }

  @Test func `transfers that wait continue in the next turn, the oldest first`() {
    let turns = LoopTurns()
    for id in [9, 3, 5] as [TransferID] { _ = turns.wait(id) }
    turns.end(5)
    #expect(turns.isAnyWaiting)
    #expect(turns.begin() == [3, 9])
    #expect(!turns.isAnyWaiting)
    #expect(turns.begin().isEmpty)
  }

  @Test(arguments: [(64, 0, false), (33, 31, false), (32, 32, true), (0, 64, true), (0, 0, true)])
  func `a turn is wasted on small calls, or on none`(large: Int, small: Int, isWasted: Bool) {
    let turns = LoopTurns()
    for _ in 0..<large { _ = turns.permitsCall(of: 1, byteCount: 16) }
    for _ in 0..<small { _ = turns.permitsCall(of: 1, byteCount: 15) }
    #expect(turns.wait(1) == isWasted)
  }
}

@Suite(.timeLimit(.minutes(20))) struct TurnShareTests {
  @Test func `a transfer ends after 128 wasted turns, and useful turns do not count`() {
    let turns = LoopTurns()
    var share = TurnShare(of: 1, in: turns)
    for turn in 0..<2 * TurnShare.maximumWastedCount {
      _ = share.permitCall(byteCount: turn.isMultiple(of: 2) ? 100 : 1)
      let isPaused = share.awaitNext()
      #expect(isPaused)
      #expect(turns.begin() == [1])
    }
    let isPaused = share.awaitNext()
    #expect(!isPaused)
  }
}

@Suite(.timeLimit(.minutes(20))) struct HostCooldownsTests {
  private let now = ContinuousClock.now

  @Test func `an origin cools down until its time has passed, and no other origin does`() {
    let cooldowns = HostCooldowns()
    cooldowns.record(HostCooldown(host: "h", origin: "a", seconds: 60, httpStatus: 503), at: now)
    #expect(cooldowns.isCoolingDown("a", at: now + .milliseconds(59_999)))
    #expect(!cooldowns.isCoolingDown("a", at: now + .seconds(60)))
    #expect(!cooldowns.isCoolingDown("b", at: now))
  }

  @Test func `a shorter cooldown does not replace a longer one`() {
    let cooldowns = HostCooldowns()
    cooldowns.record(HostCooldown(host: "h", origin: "a", seconds: 60, httpStatus: 503), at: now)
    cooldowns.record(HostCooldown(host: "h", origin: "a", seconds: 5, httpStatus: 503), at: now)
    #expect(cooldowns.isCoolingDown("a", at: now + .seconds(59)))
  }

  @Test func `among many origins only those whose cooldown is over are removed`() {
    let cooldowns = HostCooldowns()
    for host in 0..<2_000 {
      cooldowns.record(
        HostCooldown(host: "h", origin: "\(host)", seconds: 60, httpStatus: 503), at: now)
    }
    #expect((0..<2_000).allSatisfy { cooldowns.isCoolingDown("\($0)", at: now) })
  }
}

/// Origins that send Retry-After.
@Suite(.timeLimit(.minutes(20))) struct CooldownTests {
  private let origin = TestOrigin()
  private let fetcher: Fetcher

  init() throws {
    fetcher = try Fetcher()
    origin.serve("/a", .body([7]))
    origin.serve("/busy", .status(503, retryAfter: "60"))
  }

  private func cooldown(_ seconds: Int64, httpStatus: Int = 429) -> HostCooldown {
    HostCooldown(
      host: "127.0.0.1", origin: origin.baseURL, seconds: seconds, httpStatus: httpStatus)
  }

  @Test func `a cooldown is reported once`() throws {
    let transfer = try fetcher.fetch(origin.baseURL + "/busy")
    #expect(transfer.failure?.httpStatus == 503)
    #expect(fetcher.pool.takeCooldowns() == [cooldown(60, httpStatus: 503)])
    #expect(fetcher.pool.takeCooldowns().isEmpty)
  }

  @Test(arguments: [("999999999", 300), ("301", 300), ("299", 299)])
  func `a cooldown lasts at most five minutes`(seconds: String, expected: Int64) throws {
    origin.serve("/a", .status(429, retryAfter: seconds))
    _ = try fetcher.fetch(origin.baseURL + "/a")
    #expect(fetcher.pool.takeCooldowns() == [cooldown(expected)])
  }

  @Test func `a cooldown is of the origin as the URL spells it`() throws {
    _ = try fetcher.fetch("http://0x7F.1:\(origin.port)/busy")
    #expect(
      fetcher.pool.takeCooldowns() == [
        HostCooldown(
          host: "0x7f.1", origin: "http://0x7f.1:\(origin.port)", seconds: 60, httpStatus: 503)
      ])
  }

  @Test(arguments: ["0", "-1", "soon"])
  func `a Retry-After without a time is ignored`(value: String) throws {
    origin.serve("/a", .status(429, retryAfter: value))
    _ = try fetcher.fetch(origin.baseURL + "/a")
    #expect(fetcher.pool.takeCooldowns().isEmpty)
  }

  @Test func `a cooldown starts before the body of its response is in`() throws {
    origin.serve(
      "/a",
      .response(
        Response(
          status: 429, headers: [Header("Retry-After", "60")], body: [1, 2],
          delivery: .stall(after: 1))))
    let id = try fetcher.start(origin.baseURL + "/a")
    var cooldowns: [HostCooldown] = []
    try fetcher.run {
      cooldowns += fetcher.pool.takeCooldowns()
      return !cooldowns.isEmpty
    }
    #expect(cooldowns == [cooldown(60)])
    #expect(fetcher.finished[id] == nil)
  }

  @Test func `an origin in its cooldown is sent nothing, and another port of its host is`() throws {
    let other = TestOrigin()
    other.serve("/a", .body([7]))
    _ = try fetcher.fetch(origin.baseURL + "/busy")
    let transfer = try fetcher.fetch(origin.baseURL + "/a")
    #expect(transfer.isDeferred)
    #expect(transfer.failure?.isRetryable == true)
    #expect(try fetcher.fetchRobots(of: origin.baseURL).isDeferred)
    #expect(origin.totals().requests == 1)
    #expect(try !fetcher.fetch(other.baseURL + "/a").isDeferred)
    #expect(try !fetcher.fetch("http://localhost:\(origin.port)/a").isDeferred)
    #expect(origin.counters("/a").requests == 1)
  }

  @Test func `a cooldown is also of the origins of the host whose redirects lead to it`() throws {
    let other = TestOrigin()
    other.serve("/to", .redirect(to: origin.baseURL + "/busy"))
    other.serve("/a", .body([7]))
    #expect(try fetcher.fetch(other.baseURL + "/to").failure?.httpStatus == 503)
    #expect(fetcher.pool.takeCooldowns().map(\.origin) == [other.baseURL, origin.baseURL])
    #expect(try fetcher.fetch(other.baseURL + "/a").isDeferred)
  }

  @Test func `a transfer that is under way when a cooldown starts continues`() throws {
    origin.serve("/a", .body([7], delivery: .hold))
    origin.serve("/b", .body([8]))
    let id = try fetcher.start(origin.baseURL + "/a")
    _ = try fetcher.fetch(origin.baseURL + "/b")
    try #require(origin.waitUntil { $0["/a"].inFlight == 1 })
    _ = try fetcher.fetch(origin.baseURL + "/busy")
    origin.release("/a")
    try fetcher.run { fetcher.finished[id] != nil }
    #expect(fetcher.finished[id]?.body?.bytes == [7])
  }

  @Test func `in a cooldown no request that a connection lost is sent again`() throws {
    let listener = try RawListener()
    let first = try fetcher.start(listener.baseURL + "/")
    try fetcher.run { listener.acceptsConnection() }
    listener.say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
    try fetcher.run { fetcher.finished[first] != nil }
    let second = try fetcher.start(listener.baseURL + "/")
    // Once of the first request, then of the second.
    try fetcher.run { listener.receivedRequestCount == 2 }
    let third = try fetcher.start(listener.baseURL + "/busy")
    try fetcher.run { listener.receivedRequestCount == 3 }
    listener.say("HTTP/1.1 503 Busy\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n")
    try fetcher.run { fetcher.finished[third] != nil }
    listener.closeConnections()
    try fetcher.run { fetcher.finished[second] != nil }
    #expect(fetcher.finished[second]?.isDeferred == true)
    #expect(listener.receivedRequestCount == 3)
  }

  @Test(arguments: [FetchOptions.standard, FetchOptions(respectsRobots: true)])
  func `a cooldown behind a redirect is of the final origin`(options: FetchOptions) throws {
    let to = "http://localhost:\(origin.port)"
    origin.serve("/to", .redirect(to: "\(to)/busy"))
    let transfer = try fetcher.fetch(origin.baseURL + "/to", as: options)
    #expect(transfer.failure?.httpStatus == 503)
    #expect(
      fetcher.pool.takeCooldowns() == [
        HostCooldown(host: "localhost", origin: to, seconds: 60, httpStatus: 503)
      ])
    #expect(try !fetcher.fetch(origin.baseURL + "/a").isDeferred)
    #expect(try fetcher.fetch("\(to)/a").isDeferred)
  }

  @Test func `the Retry-After of a redirect is ignored`() throws {
    let location = Header("Location", "http://localhost:\(origin.port)/none")
    origin.serve(
      "/to", .response(Response(status: 302, headers: [location, Header("Retry-After", "60")])))
    #expect(try fetcher.fetch(origin.baseURL + "/to").failure?.httpStatus == 404)
    #expect(fetcher.pool.takeCooldowns().isEmpty)
  }

  @Test(arguments: [FetchOptions.standard, FetchOptions(respectsRobots: true)])
  func `in a cooldown nothing is sent behind a redirect either`(options: FetchOptions) throws {
    origin.serve("/to", .redirect(to: "http://localhost:\(origin.port)/a"))
    _ = try fetcher.fetch("http://localhost:\(origin.port)/busy")
    let transfer = try fetcher.fetch(origin.baseURL + "/to", as: options)
    #expect(transfer.failure?.isRetryable == true)
    #expect(transfer.failure?.detail.hasPrefix("localhost sent Retry-After") == true)
    // An attempt at once would fail again, and be one more request to the host that redirects.
    #expect(!transfer.isDeferred)
    #expect(transfer.wasRedirected)
    #expect(origin.counters("/a").requests == 0)
  }
}

/// Limits of bandwidth, by a clock that the test moves.
@Suite(.timeLimit(.minutes(20))) struct BandwidthTests {
  private final class Clock {
    /// In nanoseconds.
    var now: UInt64 = 1_000_000_000_000
  }

  private let origin = TestOrigin()
  private let bandwidth: SharedBandwidth
  private let clock = Clock()
  private let body = (0..<400_000).map { UInt8(truncatingIfNeeded: $0) }
  /// What libcurl hands over at once, and the heads, which no limit holds.
  private static let piece = (16 << 10) + 1_000

  init() throws {
    bandwidth = try SharedBandwidth()
    for path in ["/a", "/b", "/c"] { origin.serve(path, .body(body)) }
  }

  private func fetcher(adjust: (inout Limits) -> Void = { _ in }) throws -> Fetcher {
    try Fetcher(bandwidth: (bandwidth, { [clock] in clock.now }), adjust: adjust)
  }

  private func arrived(_ ids: [TransferID], _ fetcher: Fetcher) -> Int {
    ids.reduce(0) { $0 + (fetcher.pool.arrival(of: $1)?.byteCount ?? 0) }
  }

  /// Runs until no transfer can go on.
  private func runUntilHeld(_ ids: [TransferID], _ fetcher: Fetcher) throws {
    try fetcher.run { ids.allSatisfy { isHeld($0, fetcher) } }
  }

  private func isHeld(_ id: TransferID, _ fetcher: Fetcher) -> Bool {
    fetcher.pool.arrival(of: id).map { $0.heldTime > .zero } ?? false
      && bandwidth.opening(for: .init("127.0.0.1"), at: clock.now) > clock.now
  }

  @Test func `transfers together get what the limit lets through by the clock`() throws {
    let fetcher = try fetcher()
    let rate = 100_000
    bandwidth.setRates(.init(whole: Int64(rate)), at: clock.now)
    let ids = try ["/a", "/b", "/c"].map { try fetcher.start(origin.baseURL + $0) }
    try runUntilHeld(ids, fetcher)
    let first = arrived(ids, fetcher)
    #expect(first <= rate / 4 + Self.piece)
    for step in 1...10 {
      clock.now += 200_000_000
      let passed = rate * step / 5
      try fetcher.run { arrived(ids, fetcher) >= first + passed - Self.piece }
      try runUntilHeld(ids, fetcher)
      #expect(arrived(ids, fetcher) <= passed + rate / 4 + Self.piece)
    }
    // Each has had its turns.
    let counts = ids.compactMap { fetcher.pool.arrival(of: $0)?.byteCount }
    #expect(counts.count == 3 && counts.allSatisfy { $0 > rate / 3 })
    bandwidth.setRates(.init(), at: clock.now)
    try fetcher.run { fetcher.finished.count == 3 }
    #expect(fetcher.finished.values.allSatisfy { $0.body?.holds(body) == true })
  }

  @Test func `what a client waits for passes before all that is held`() throws {
    let fetcher = try fetcher()
    bandwidth.setRates(.init(whole: 100_000), at: clock.now)
    let ids = try ["/a", "/b", "/c"].map { try fetcher.start(origin.baseURL + $0) }
    try runUntilHeld(ids, fetcher)
    let counts = ids.map { arrived([$0], fetcher) }
    fetcher.pool.setUrgent(true, ids[2])
    for _ in 1...10 {
      clock.now += 200_000_000
      let before = arrived([ids[2]], fetcher)
      try fetcher.run { arrived([ids[2]], fetcher) > before }
      try runUntilHeld(ids, fetcher)
    }
    #expect(ids.prefix(2).map { arrived([$0], fetcher) } == Array(counts.prefix(2)))
    bandwidth.setRates(.init(), at: clock.now)
    try fetcher.run { fetcher.finished.count == 3 }
  }

  @Test func `what no client waits for any more takes turns with all that is held`() throws {
    let fetcher = try fetcher()
    bandwidth.setRates(.init(whole: 100_000), at: clock.now)
    let ids = try ["/a", "/b", "/c"].map { try fetcher.start(origin.baseURL + $0) }
    try runUntilHeld(ids, fetcher)
    let counts = ids.map { arrived([$0], fetcher) }
    fetcher.pool.setUrgent(true, ids[2])
    fetcher.pool.setUrgent(false, ids[2])
    for _ in 1...10 {
      clock.now += 200_000_000
      let before = arrived(ids, fetcher)
      try fetcher.run { arrived(ids, fetcher) > before }
      try runUntilHeld(ids, fetcher)
    }
    #expect(zip(ids, counts).allSatisfy { arrived([$0], fetcher) > $1 })
    bandwidth.setRates(.init(), at: clock.now)
    try fetcher.run { fetcher.finished.count == 3 }
  }

  @Test func `the limit of a host holds for that host alone`() throws {
    let fetcher = try fetcher()
    bandwidth.setRates(.init(perHost: 10_000), at: clock.now)
    let slow = try fetcher.start(origin.baseURL + "/a")
    try runUntilHeld([slow], fetcher)
    let count = arrived([slow], fetcher)
    #expect(count <= 10_000 / 4 + Self.piece)
    origin.serve("/short", .body([7]))
    let other = try fetcher.fetch("http://localhost:\(origin.port)/short")
    #expect(other.body?.bytes == [7])
    #expect(arrived([slow], fetcher) == count)
    fetcher.pool.cancel(slow)
    #expect(fetcher.pool.arrival(of: slow) == nil)
  }

  @Test func `a transfer may be held for longer than it may take and than it may stall`() throws {
    let limit = Duration.seconds(3)
    let fetcher = try fetcher {
      $0.transferTimeout = limit
      $0.stallTimeout = .milliseconds(1)
    }
    bandwidth.setRates(.init(whole: 1_024), at: clock.now)
    let id = try fetcher.start(origin.baseURL + "/a")
    try fetcher.run { (fetcher.pool.arrival(of: id)?.heldTime ?? .zero) > limit * 3 / 2 }
    #expect(fetcher.finished[id] == nil)
    bandwidth.setRates(.init(), at: clock.now)
    #expect(try fetcher.end(of: id).body?.holds(body) == true)
  }

  @Test func `a transfer that was held has the rest of its time, and no more`() throws {
    let fetcher = try fetcher { $0.transferTimeout = .seconds(1) }
    origin.serve("/stall", .body(body, delivery: .stall(after: 300_000)))
    bandwidth.setRates(.init(whole: 1_024), at: clock.now)
    let id = try fetcher.start(origin.baseURL + "/stall")
    try fetcher.run { (fetcher.pool.arrival(of: id)?.heldTime ?? .zero) > .seconds(1) }
    bandwidth.setRates(.init(), at: clock.now)
    #expect(try fetcher.end(of: id).failure?.code == .timeout)
  }
}
