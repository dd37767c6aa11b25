import Testing

@testable import TestOrigin

struct BehaviourTests {
  private let resource = Behaviour.resource(
    Resource(
      Array("0123456789".utf8), entityTag: "\"v1\"",
      lastModified: "Mon, 02 Mar 2026 10:00:00 GMT"))

  @Test(arguments: [
    ("bytes=2-4", "234", "bytes 2-4/10"),
    ("bytes=7-", "789", "bytes 7-9/10"),
    ("bytes=-3", "789", "bytes 7-9/10"),
    ("bytes=5-99", "56789", "bytes 5-9/10"),
    ("bytes=-99", "0123456789", "bytes 0-9/10"),
  ])
  func `a range is answered with its part`(range: String, part: String, position: String) {
    let response = answer(["range": range])
    #expect(response.status == 206)
    #expect(response.body == Array(part.utf8))
    #expect(response.headers.contains(Header("Content-Range", position)))
  }

  @Test(arguments: ["bytes=10-", "bytes=12-14", "bytes=-0"])
  func `a range outside the body cannot be satisfied`(range: String) {
    let response = answer(["range": range])
    #expect(response.status == 416)
    #expect(response.headers == [Header("Content-Range", "bytes */10")])
  }

  @Test(arguments: ["bytes=4-2", "bytes=0-1,4-5", "lines=0-1", "bytes=-", "bytes=a-b", "bytes=5"])
  func `a range that cannot be read is ignored`(range: String) {
    #expect(answer(["range": range]).status == 200)
  }

  @Test(arguments: [
    ("\"v1\"", 206), ("\"v2\"", 200), ("W/\"v1\"", 200), ("Mon, 02 Mar 2026 10:00:00 GMT", 206),
    ("Mon, 02 Mar 2026 10:00:01 GMT", 200),
  ])
  func `If-Range decides between the part and the whole`(validator: String, status: Int) {
    #expect(answer(["range": "bytes=2-4", "if-range": validator]).status == status)
  }

  @Test(arguments: [
    (["if-none-match": "\"v1\""], 304),
    (["if-none-match": "\"v0\", W/\"v1\""], 304),
    (["if-none-match": "*"], 304),
    (["if-none-match": "\"v0\""], 200),
    (["if-modified-since": "Mon, 02 Mar 2026 10:00:00 GMT"], 304),
    (["if-modified-since": "Sun, 01 Mar 2026 10:00:00 GMT"], 200),
    (["if-none-match": "\"v0\"", "if-modified-since": "Mon, 02 Mar 2026 10:00:00 GMT"], 200),
  ])
  func `a validator that still holds is answered without a body`(
    headers: [String: String], status: Int
  ) {
    let response = answer(headers)
    #expect(response.status == status)
    #expect(response.body.isEmpty == (status == 304))
    #expect(response.headers.contains(Header("ETag", "\"v1\"")))
  }

  @Test func `a sequence gives each request its own answer and repeats the last`() {
    let behaviour = Behaviour.statuses([503, 200], body: [1], retryAfter: "2")
    let statuses = (0..<3).map { behaviour.response(to: request(), ordinal: $0).status }
    #expect(statuses == [503, 200, 200])
    let first = behaviour.response(to: request(), ordinal: 0)
    #expect(first.headers.contains(Header("Retry-After", "2")))
    #expect(behaviour.response(to: request(), ordinal: 2).body == [1])
  }

  @Test func `only the right credentials pass`() {
    let behaviour = Behaviour.authorized(by: "Basic YTpi", .body([1]))
    #expect(behaviour.response(to: request(), ordinal: 0).status == 401)
    let wrong = request(["authorization": "Basic eDp5"])
    #expect(behaviour.response(to: wrong, ordinal: 0).status == 401)
    let right = request(["authorization": "Basic YTpi"])
    #expect(behaviour.response(to: right, ordinal: 0).status == 200)
  }

  private func request(_ headers: [String: String] = [:]) -> Request {
    Request(method: "GET", path: "/a", query: nil, headers: headers)
  }

  private func answer(_ headers: [String: String]) -> Response {
    resource.response(to: request(headers), ordinal: 0)
  }
}

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
    let delivery = BodyDelivery.drip(bytesPerSecond: 1_000)
    #expect(
      delivery.step(at: 0, of: 120, room: 9_999) == .sendAfter(.milliseconds(50), byteCount: 50))
    #expect(
      delivery.step(at: 100, of: 120, room: 9_999) == .sendAfter(.milliseconds(20), byteCount: 20))
    #expect(
      BodyDelivery.drip(bytesPerSecond: 5).step(at: 0, of: 9, room: 9)
        == .sendAfter(.milliseconds(200), byteCount: 1))
  }
}
