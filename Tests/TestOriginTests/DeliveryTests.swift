import Testing

@testable import TestOrigin

@Suite(.timeLimit(.minutes(20)))
struct DeliveryTests {
  private let origin: TestOrigin

  init() throws {
    origin = try TestOrigin()
  }

  @Test func `a whole body arrives with its length`() throws {
    origin.serve("/a", .body(Array("hello".utf8), contentType: "text/plain"))
    let answer = try RawClient.fetch("/a", from: origin.port)
    #expect(answer.header.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(answer.header.contains("Content-Length: 5\r\n"))
    #expect(answer.header.contains("Content-Type: text/plain\r\n"))
    #expect(answer.body == "hello")
  }

  @Test func `a body larger than every buffer arrives whole`() throws {
    let text = String(repeating: "0123456789abcdef", count: 200_000)
    origin.serve("/large", .body(Array(text.utf8)))
    #expect(try RawClient.fetch("/large", from: origin.port).body == text)
    #expect(origin.counters("/large").bytesSent == text.utf8.count)
  }

  @Test func `a chunked body has no length and a last chunk`() throws {
    origin.serve("/a", .body(Array("hello".utf8), delivery: .chunked))
    let answer = try RawClient.fetch("/a", from: origin.port)
    #expect(!answer.header.contains("Content-Length"))
    #expect(answer.header.contains("Transfer-Encoding: chunked\r\n"))
    #expect(answer.body == "5\r\nhello\r\n0\r\n\r\n")
  }

  @Test func `a cut body ends early under its full length`() throws {
    origin.serve("/a", .body(Array("hello".utf8), delivery: .cut(after: 2)))
    let answer = try RawClient.fetch("/a", from: origin.port)
    #expect(answer.header.contains("Content-Length: 5\r\n"))
    #expect(answer.body == "he")
    #expect(answer.end == .closed)
    #expect(origin.counters("/a").aborted == 0)
  }

  @Test func `a chunked body cut short has no last chunk`() throws {
    origin.serve(
      "/a", .body(Array("hello".utf8), delivery: .cut(after: 2, declaresLength: false)))
    let answer = try RawClient.fetch("/a", from: origin.port)
    #expect(answer.body == "2\r\nhe\r\n")
    #expect(answer.end == .closed)
  }

  @Test func `a reset reaches the client as a reset after the bytes before it`() throws {
    origin.serve("/a", .body(Array("hello".utf8), delivery: .reset(after: 2)))
    let answer = try RawClient.fetch("/a", from: origin.port)
    #expect(answer.body == "he")
    #expect(answer.end == .reset)
  }

  @Test(arguments: [3, 9])
  func `a wrong length is declared and the body sent whole`(declared: Int) throws {
    origin.serve("/a", .body(Array("hello".utf8), delivery: .wrongLength(declared: declared)))
    let answer = try RawClient.fetch("/a", from: origin.port)
    #expect(answer.header.contains("Content-Length: \(declared)\r\n"))
    #expect(!answer.header.contains("Content-Length: 5"))
    #expect(answer.body == "hello")
    #expect(answer.end == .closed)
  }

  @Test(arguments: [("", "hello"), ("he", "llo")])
  func `a stalled body continues when its path is released`(before: String, after: String) throws {
    origin.serve("/a", .body(Array("hello".utf8), delivery: .stall(after: before.utf8.count)))
    var client = try RawClient(port: origin.port)
    client.request("/a")
    #expect(client.text(upTo: "\r\n\r\n" + before).hasSuffix("\r\n\r\n" + before))
    #expect(origin.counters("/a").inFlight == 1)
    #expect(origin.counters("/a").bytesSent == before.utf8.count)
    origin.release("/a")
    #expect(client.remainder().text == after)
  }

  @Test func `a held answer begins when its path is released, and others do not wait for it`()
    throws
  {
    origin.serve("/held", .body(Array("late".utf8), delivery: .hold))
    origin.serve("/free", .body(Array("soon".utf8)))
    var client = try RawClient(port: origin.port)
    client.request("/held")
    #expect(origin.waitUntil { $0["/held"].inFlight == 1 })
    #expect(try RawClient.fetch("/free", from: origin.port).body == "soon")
    #expect(origin.counters("/held").bytesSent == 0)
    origin.release("/held")
    #expect(client.remainder().text.hasSuffix("\r\n\r\nlate"))
  }

  @Test func `a path released before its request holds nothing until it is served again`() throws {
    origin.serve("/a", .body([], delivery: .hold))
    origin.release("/a")
    #expect(try RawClient.fetch("/a", from: origin.port).header.contains(" 200 "))
    origin.serve("/a", .body([], delivery: .hold))
    let client = try RawClient(port: origin.port)
    client.request("/a")
    #expect(origin.waitUntil { $0["/a"].inFlight == 1 })
  }

  @Test func `an endless body continues until the client leaves, which counts as an abort`() throws
  {
    origin.serve("/a", .body([], delivery: .endless))
    do {
      let client = try RawClient(port: origin.port)
      client.request("/a")
      #expect(origin.waitUntil { $0["/a"].bytesSent > 1_000_000 })
    }
    #expect(origin.waitUntil { $0["/a"].aborted == 1 && $0["/a"].inFlight == 0 })
  }

  @Test func `a slow header comes after its delay`() throws {
    let started = ContinuousClock.now
    origin.serve("/a", .body(Array("x".utf8), headerDelay: .milliseconds(100)))
    #expect(try RawClient.fetch("/a", from: origin.port).body == "x")
    // Only the lower bound is certain.
    #expect(ContinuousClock.now - started >= .milliseconds(100))
  }

  @Test func `a dripped body goes out in slices, each after its share of a second`() {
    let delivery = Delivery.drip(bytesPerSecond: 1_000)
    #expect(
      delivery.step(at: 0, of: 120, room: 9_999) == .sendAfter(.milliseconds(50), byteCount: 50))
    #expect(
      delivery.step(at: 100, of: 120, room: 9_999) == .sendAfter(.milliseconds(20), byteCount: 20))
    #expect(
      Delivery.drip(bytesPerSecond: 5).step(at: 0, of: 9, room: 9)
        == .sendAfter(.milliseconds(200), byteCount: 1))
  }
}
