import FoundationEssentials
import Glibc
import TestOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct OriginTests {
  private let origin = TestOrigin()

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

@Suite(.timeLimit(.minutes(20))) struct LogTests {
  @Test func `the log has every start and every end in its order`() throws {
    let origin = TestOrigin()
    origin.serve("/held", .body(Array("late".utf8), delivery: .hold))
    origin.serve("/free", .body(Array("soon".utf8)))
    var patient = try RawClient(port: origin.port)
    patient.request("/held")
    #expect(origin.waitUntil { $0.totals.inFlight == 1 })
    do {
      let client = try RawClient(port: origin.port)
      client.request("/held")
      #expect(origin.waitUntil { $0.totals.inFlight == 2 })
      _ = try RawClient.fetch("/free", from: origin.port)
    }
    #expect(origin.waitUntil { $0.totals.aborted == 1 })
    origin.release("/held")
    _ = patient.remainder()
    _ = try RawClient.fetch("/free", from: origin.port)

    let snapshot = origin.snapshot
    #expect(snapshot.log.map(\.request) == [1, 2, 3, 3, 2, 1, 4, 4])
    #expect(
      snapshot.log.map(\.kind)
        == [.started, .started, .started, .landed, .aborted, .landed, .started, .landed])
    #expect(zip(snapshot.log, snapshot.log.dropFirst()).allSatisfy { $0.moment <= $1.moment })
    #expect(snapshot.starts(from: 1).map(\.path) == ["/held", "/free", "/free"])
    #expect(snapshot.totals.peakInFlight == 3)
    #expect(snapshot.peakInFlight() == 3)
    #expect(snapshot.peakInFlight(from: 3) == 1)
    #expect(snapshot.peakInFlight { $0.request != 2 } == 2)
  }
}

struct ServedDirectoryTests: ~Copyable {
  private let parent: URL
  private let directory: ServedDirectory

  init() throws {
    let manager = FileManager.default
    parent = manager.temporaryDirectory.appending(path: "served-\(UUID().uuidString)")
    let root = parent.appending(path: "root")
    try manager.createDirectory(at: root.appending(path: "sub"), withIntermediateDirectories: true)
    try Data("outside".utf8).write(to: parent.appending(path: "secret.txt"))
    try Data("picture".utf8).write(to: root.appending(path: "sub/a b%.JPG"))
    try Data("plain".utf8).write(to: root.appending(path: "unknown"))
    try manager.createSymbolicLink(
      at: root.appending(path: "link.txt"),
      withDestinationURL: parent.appending(path: "secret.txt"))
    directory = try #require(ServedDirectory(root.path))
  }

  deinit {
    // A directory that cannot be removed is left to the system.
    try? FileManager.default.removeItem(at: parent)
  }

  @Test func `every path listed is served with the type of its suffix`() throws {
    #expect(try directory.paths() == ["/link.txt", "/sub/a%20b%25.JPG", "/unknown"])
    let picture = try response("/sub/a%20b%25.JPG")
    #expect(picture.body == Array("picture".utf8))
    #expect(picture.headers == [Header("Content-Type", "image/jpeg")])
    #expect(
      try response("/unknown").headers == [Header("Content-Type", "application/octet-stream")])
  }

  @Test(arguments: [
    "/../secret.txt", "/sub/../../secret.txt", "/%2e%2e/secret.txt", "/link.txt", "/nothing", "/",
    "/sub", "/unknown%00", "/%zz", "",
  ])
  func `nothing outside and nothing but files is served`(path: String) {
    #expect(directory.behaviour(for: path) == nil)
  }

  private func response(_ path: String) throws -> Response {
    guard case .response(let response)? = directory.behaviour(for: path) else {
      throw Missing(path: path)
    }
    return response
  }

  private struct Missing: Error {
    let path: String
  }
}

/// A client that sees the bytes of a connection as they are; it waits at most a minute for any.
struct RawClient: ~Copyable {
  enum End {
    case closed
    case reset
    case silent
  }

  private let descriptor: CInt

  /// Read from the socket but not yet asked for.
  private var received: [UInt8] = []

  init(port: UInt16) throws {
    descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    try #require(descriptor >= 0)
    var deadline = timeval(tv_sec: 60, tv_usec: 0)
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &deadline, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(status == 0)
  }

  deinit {
    close(descriptor)
  }

  /// Sends a request; without further word the connection ends with its answer.
  func request(
    _ target: String, method: String = "GET", headers: [String] = [], body: String = "",
    keepsConnection: Bool = false
  ) {
    var lines = ["\(method) \(target) HTTP/1.1", "Host: origin"] + headers
    if !keepsConnection { lines.append("Connection: close") }
    if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
    let bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    let sent = unsafe send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    #expect(sent == bytes.count)
  }

  /// What comes up to this text, or up to the end of the connection.
  mutating func text(upTo end: String) -> String {
    let end = Array(end.utf8)
    while received.firstRange(of: end) == nil, receive() > 0 {}
    return take(received.firstRange(of: end)?.upperBound ?? received.count)
  }

  /// Everything until the connection ends, and how it ended.
  mutating func remainder() -> (text: String, end: End) {
    while true {
      let count = receive()
      if count == 0 { return (take(received.count), .closed) }
      if count < 0 { return (take(received.count), errno == ECONNRESET ? .reset : .silent) }
    }
  }

  /// One request on a connection of its own: the answer's header, its body, and how it ended.
  static func fetch(
    _ target: String, from port: UInt16, method: String = "GET", headers: [String] = [],
    body: String = ""
  ) throws -> (header: String, body: String, end: End) {
    var client = try RawClient(port: port)
    client.request(target, method: method, headers: headers, body: body)
    let header = client.text(upTo: "\r\n\r\n")
    let (body, end) = client.remainder()
    return (header, body, end)
  }

  private mutating func receive() -> Int {
    var block = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe recv(descriptor, &block, block.count, 0)
    received += block.prefix(max(0, count))
    return count
  }

  private mutating func take(_ byteCount: Int) -> String {
    defer { received.removeFirst(byteCount) }
    return String(decoding: received.prefix(byteCount), as: UTF8.self)
  }
}
