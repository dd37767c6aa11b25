import TestOrigin
import Testing

@Suite(.timeLimit(.minutes(20)))
struct OriginTests {
  private let origin: TestOrigin

  init() throws {
    origin = try TestOrigin()
  }

  @Test func `an unknown path is not found`() throws {
    #expect(try RawClient.fetch("/nowhere", from: origin.port).header.contains(" 404 "))
  }

  @Test func `the fallback sees path and query and may build a chain`() throws {
    origin.fallback = { path, query in
      guard path == "/hop", let query, let left = Int(query) else { return nil }
      return left == 0 ? .body([]) : .redirect(to: "/hop?\(left - 1)")
    }
    #expect(
      try RawClient.fetch("/hop?2", from: origin.port).header.contains("Location: /hop?1\r\n"))
    #expect(try RawClient.fetch("/hop?0", from: origin.port).header.contains(" 200 "))
    #expect(try RawClient.fetch("/hop", from: origin.port).header.contains(" 404 "))
  }

  @Test func `requests count by path and by target`() throws {
    origin.serve("/a", .body([1, 2, 3]))
    _ = try RawClient.fetch("/a?size=1", from: origin.port, headers: ["X-Test: One", "Range: x"])
    _ = try RawClient.fetch("/a", from: origin.port, method: "HEAD", headers: ["x-test: two"])
    let counters = origin.counters("/a")
    #expect(counters.requests == 2)
    #expect(counters.bytesSent == 3)
    #expect(counters.methods == ["GET": 1, "HEAD": 1])
    #expect(counters.headersSeen["x-test"] == "two")
    #expect(counters.ranges == ["x"])
    #expect(counters.inFlight == 0)
    #expect(origin.counters("/a?size=1").requests == 1)
    #expect(origin.totals().requests == 2)
    #expect(origin.totals().connectionsOpened == 2)
    #expect(origin.startOrder() == ["/a", "/a"])
  }

  @Test func `an uploaded body is read and dropped`() throws {
    origin.serve("/a", .body(Array("ok".utf8)))
    let answer = try RawClient.fetch("/a", from: origin.port, method: "POST", body: "some text")
    #expect(answer.body == "ok")
  }

  @Test func `a kept connection takes a second request`() throws {
    origin.serve("/a", .body(Array("first".utf8)))
    origin.serve("/b", .body(Array("second".utf8)))
    var client = try RawClient(port: origin.port)
    client.request("/a", keepsConnection: true)
    _ = client.text(upTo: "first")
    client.request("/b")
    #expect(client.remainder().text.hasSuffix("second"))
    #expect(origin.totals().connectionsOpened == 1)
  }

  @Test func `an answer is no longer in flight when its client has the last byte`() throws {
    origin.serve("/a", .body(Array("hello".utf8)))
    var client = try RawClient(port: origin.port)
    for _ in 0..<200 {
      client.request("/a", keepsConnection: true)
      #expect(client.text(upTo: "hello").hasSuffix("hello"))
      #expect(origin.counters("/a").inFlight == 0)
    }
    #expect(origin.counters("/a").peakInFlight == 1)
  }

  @Test func `requests in flight at once are counted over all paths`() throws {
    origin.fallback = { _, _ in .body([], delivery: .hold) }
    let first = try RawClient(port: origin.port)
    first.request("/1")
    #expect(origin.waitUntil { $0.totals.inFlight == 1 })
    let second = try RawClient(port: origin.port)
    second.request("/2")
    #expect(origin.waitUntil { $0.totals.inFlight == 2 })
    origin.release("/1")
    origin.release("/2")
    #expect(origin.waitUntil { $0.totals.inFlight == 0 })
    #expect(origin.totals().peakInFlight == 2)
    #expect(origin.counters("/1").peakInFlight == 1)
    #expect(origin.startOrder() == ["/1", "/2"])
  }

  @Test func `a client that leaves while it is held counts as an abort`() throws {
    origin.serve("/a", .body([], delivery: .hold))
    do {
      let client = try RawClient(port: origin.port)
      client.request("/a")
      #expect(origin.waitUntil { $0["/a"].inFlight == 1 })
    }
    #expect(origin.waitUntil { $0["/a"].aborted == 1 && $0["/a"].inFlight == 0 })
  }

  @Test func `stopping ends held, stalled, dripping, unread and idle connections`() throws {
    let body = [UInt8](repeating: 1, count: 1_000)
    origin.serve("/hold", .body(body, delivery: .hold))
    origin.serve("/stall", .body(body, delivery: .stall(after: 0)))
    origin.serve("/drip", .body(body, delivery: .drip(bytesPerSecond: 1)))
    var held = try RawClient(port: origin.port)
    held.request("/hold")
    var stalled = try RawClient(port: origin.port)
    stalled.request("/stall")
    var dripping = try RawClient(port: origin.port)
    dripping.request("/drip")
    var idle = try RawClient(port: origin.port)
    origin.serve("/endless", .body([], delivery: .endless))
    let deaf = try RawClient(port: origin.port)
    deaf.request("/endless")
    #expect(origin.waitUntil { $0.totals.inFlight == 4 && $0.totals.connectionsOpened == 5 })
    origin.stop()
    #expect(held.remainder().end != .silent)
    #expect(stalled.remainder().end != .silent)
    #expect(dripping.remainder().end != .silent)
    #expect(idle.remainder().end != .silent)
    #expect(origin.totals().inFlight == 0)
    #expect(origin.totals().aborted == 0)
  }

  @Test func `a port in use is an error`() throws {
    #expect(throws: OriginError.self) { try TestOrigin(port: origin.port) }
  }

  @Test func `a wait that is never satisfied ends`() {
    #expect(!origin.waitUntil(seconds: 0.01) { $0.totals.requests > 0 })
  }
}
