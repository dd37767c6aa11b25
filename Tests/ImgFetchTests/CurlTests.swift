import CCurl
import Glibc
import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

struct NameServicesTests {
  @Test(arguments: [
    ("hosts: files dns\n", ["files", "dns"]),
    (
      "passwd: files\nhosts:\tfiles mdns4_minimal [NOTFOUND=return] dns # last\n",
      ["files", "mdns4_minimal", "dns"]
    ),
    (
      "hosts: mymachines resolve [!UNAVAIL = return] files myhostname",
      ["mymachines", "resolve", "files", "myhostname"]
    ),
    ("hosts: ../evil files", ["files"]), ("#hosts: dns\nnetworks: files", []), ("", []),
  ])
  func `the services of host names are named without what follows them in brackets`(
    configuration: String, names: [String]
  ) {
    #expect(NameServices.names(in: configuration) == names)
  }
}

/// What each of libcurl's codes fails with.
@Suite(.timeLimit(.minutes(20))) struct CurlCodeTests {
  /// Code → failure before an answer, and within one. All others are `internal`: they mean a wrong
  /// use of libcurl, another protocol, or a refusal of our own callbacks, which is told before.
  private static let failures: [UInt32: (before: Failure.Code, within: Failure.Code)] = [
    1: (.invalidResponse, .invalidResponse), 3: (.invalidURL, .invalidURL),
    6: (.dnsFailure, .dnsFailure), 7: (.connectFailure, .connectFailure),
    8: (.invalidResponse, .invalidResponse), 16: (.connectFailure, .truncatedBody),
    18: (.connectFailure, .truncatedBody), 27: (.outOfMemory, .outOfMemory),
    28: (.timeout, .timeout), 35: (.tlsFailure, .tlsFailure), 43: (.internal, .invalidResponse),
    45: (.connectFailure, .connectFailure), 52: (.connectFailure, .truncatedBody),
    53: (.tlsFailure, .tlsFailure), 54: (.tlsFailure, .tlsFailure),
    55: (.connectFailure, .truncatedBody), 56: (.connectFailure, .truncatedBody),
    58: (.tlsFailure, .tlsFailure), 59: (.tlsFailure, .tlsFailure),
    60: (.tlsFailure, .tlsFailure), 61: (.invalidResponse, .invalidResponse),
    63: (.tooLarge, .tooLarge), 64: (.tlsFailure, .tlsFailure),
    65: (.connectFailure, .truncatedBody), 66: (.tlsFailure, .tlsFailure),
    77: (.tlsFailure, .tlsFailure), 80: (.tlsFailure, .tlsFailure),
    82: (.tlsFailure, .tlsFailure), 83: (.tlsFailure, .tlsFailure),
    89: (.connectFailure, .connectFailure), 90: (.tlsFailure, .tlsFailure),
    91: (.tlsFailure, .tlsFailure), 92: (.connectFailure, .truncatedBody),
    98: (.tlsFailure, .tlsFailure),
  ]

  @Test(arguments: 1..<UInt32(CURL_LAST.rawValue))
  func `each code has its failure`(rawValue: UInt32) {
    let code = CURLcode(rawValue: rawValue)
    let expected = Self.failures[rawValue] ?? (.internal, .internal)
    #expect(code.failureCode(isAnswered: false) == expected.before)
    #expect(code.failureCode(isAnswered: true) == expected.within)
  }

  @Test(arguments: [
    "OpenSSL SSL_connect: reset in connection to a.test:443 ", "It is over.",
    "Malformed: \(CURLE_RECV_ERROR.text)",
  ])
  func `what libcurl says ends without a space, a full stop and the name of its code`(
    text: String
  ) {
    let words = CURLE_RECV_ERROR.words(text)
    #expect(text.hasPrefix(words) && [":443", "over", "ormed"].contains { words.hasSuffix($0) })
  }

  @Test func `a broken chunk is told from a broken connection`() {
    let words = "Malformed encoding found in chunked-encoding"
    #expect(CURLE_RECV_ERROR.failureCode(isAnswered: true, words: words) == .invalidResponse)
  }
}

/// Time limits as libcurl takes them.
@Suite struct CurlDurationTests {
  @Test(arguments: [Duration.zero, .seconds(-5), .nanoseconds(1), .microseconds(400)])
  func `no duration becomes 0, which would be no limit`(duration: Duration) {
    #expect(duration.curlMilliseconds == 1)
    #expect(duration.curlSeconds == 1)
  }

  @Test(arguments: [Duration.seconds(1 << 40), .milliseconds(Int64.max), .seconds(Int64.max)])
  func `a duration that is too long is the longest possible`(duration: Duration) {
    #expect(duration.curlMilliseconds == Int(Int32.max))
    #expect(duration.curlSeconds == Int(Int32.max))
  }

  @Test func `milliseconds are exact, and seconds are rounded up`() {
    #expect(Duration.milliseconds(1_001).curlMilliseconds == 1_001)
    #expect(Duration.milliseconds(1_001).curlSeconds == 2)
    #expect(Duration.seconds(20).curlSeconds == 20)
  }
}

@Suite(.timeLimit(.minutes(20))) struct ConnectionTests {
  @Test func `more transfers at once than the limit at the start reuse their connections`() throws {
    let origin = TestOrigin { _, _ in .body(noise(100)) }
    let fetcher = try Fetcher { $0.transfers = 1 }
    for _ in 1...3 {
      let ends = try fetcher.fetch((1...8).map { "\(origin.baseURL)/\($0)" })
      #expect(ends.filter { $0.body != nil }.count == 8)
    }
    #expect(origin.totals().connectionsOpened == 8)
  }

  @Test func `connections and addresses that are dropped are not used again`() throws {
    let origin = TestOrigin { _, _ in .body([1]) }
    let fetcher = try Fetcher()
    FakeResolver.serve("dropped.test", ["127.0.0.1"])
    let url = "http://dropped.test:\(origin.port)/"
    for _ in 1...2 { #expect(try fetcher.fetch(url).body != nil) }
    #expect(origin.totals().connectionsOpened == 1)
    fetcher.pool.dropConnections()
    #expect(try fetcher.fetch(url).body != nil)
    #expect(origin.totals().connectionsOpened == 2)
    #expect(FakeResolver.queryCount(of: "dropped.test") == 2)
  }
}

/// What comes on a connection that serves one request after the other.
@Suite(.timeLimit(.minutes(20))) struct ReusedConnectionTests {
  private let listener: RawListener
  private let fetcher: Fetcher

  init() throws {
    listener = try RawListener()
    fetcher = try Fetcher()
  }

  private static func answer(_ body: String) -> String {
    "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  private static let timeout =
    "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

  /// Fetches from a listener that answers the first request on each connection.
  private func fetch(_ path: String, answer: String) throws -> FinishedTransfer {
    try fetcher.fetch(listener.baseURL + path) {
      if listener.acceptsConnection() { listener.say(Self.answer(answer)) }
    }
  }

  @Test func `a response without a request does not answer the next request`() throws {
    #expect(try fetch("/1", answer: "1").body?.bytes == Array("1".utf8))
    listener.say(Self.answer("late"))
    #expect(try fetch("/2", answer: "2").body?.bytes == Array("2".utf8))
  }

  @Test func `a connection that is closed with a 408 while it is idle answers nothing`() throws {
    #expect(try fetch("/1", answer: "1").body?.bytes == Array("1".utf8))
    listener.say(Self.timeout)
    #expect(try fetch("/2", answer: "2").body?.bytes == Array("2".utf8))
  }

  @Test func `a 408 that crosses a request on a used connection is not its answer`() throws {
    #expect(try fetch("/1", answer: "1").body?.bytes == Array("1".utf8))
    var isClosed = false
    let second = try fetcher.fetch(listener.baseURL + "/2") {
      if !isClosed, listener.receivedRequestCount == 2 {
        listener.say(Self.timeout)
        isClosed = true
      } else if listener.acceptsConnection() {
        listener.say(Self.answer("2"))
      }
    }
    #expect(second.body?.bytes == Array("2".utf8))
  }

  @Test func `a 408 on a new connection is the answer`() throws {
    let transfer = try fetcher.fetch(listener.baseURL + "/1") {
      if listener.acceptsConnection() { listener.say(Self.timeout) }
    }
    #expect(transfer.failure?.httpStatus == 408)
    #expect(!listener.acceptsConnection())
  }
}

/// What concerns a whole process is tested in a process of its own.
@Suite(.timeLimit(.minutes(20))) struct ProcessWideTests {
  @Test func `a proxy named in the environment is not used`() async {
    await #expect(processExitsWith: .success) {
      for name in ["http_proxy", "all_proxy", "ALL_PROXY"] {
        unsafe setenv(name, "http://127.0.0.1:1", 1)
      }
      let origin = TestOrigin()
      origin.serve("/a", .body([7]))
      let fetcher = try Fetcher()
      #expect(try fetcher.fetch(origin.baseURL + "/a").body?.bytes == [7])
    }
  }

  @Test func `a pool that ends in the middle of transfers leaves no descriptor open`() async {
    await #expect(processExitsWith: .success) {
      // What is opened once and stays is open after the first round.
      try abandonTransfer()
      let before = try openDescriptorCount()
      for _ in 0..<3 { try abandonTransfer() }
      #expect(try openDescriptorCount() == before)
    }
  }
}

/// Leaves a pool with an idle connection and one in the middle of a transfer.
private func abandonTransfer() throws {
  let origin = TestOrigin()
  origin.serve("/a", .body([7]))
  origin.serve("/stalled", .body([7, 7], delivery: .stall(after: 1)))
  let fetcher = try Fetcher()
  _ = try fetcher.fetch([origin.baseURL + "/a", origin.baseURL + "/a"])
  _ = try fetcher.start(origin.baseURL + "/stalled")
  try fetcher.run { origin.totals().inFlight == 1 }
}

private func openDescriptorCount() throws -> Int {
  let directory = unsafe try #require(opendir("/proc/self/fd"))
  defer { unsafe closedir(directory) }
  var count = 0
  while unsafe readdir(directory) != nil { count += 1 }
  return count
}

/// What transfers took that follow one another.
@Suite(.timeLimit(.minutes(20))) struct TimingsTests {
  @Test func `parts add up, and a part that neither had stays away`() {
    var first = Timings()
    first.dns = .milliseconds(1)
    first.ttfb = .milliseconds(10)
    var second = Timings()
    second.ttfb = .milliseconds(20)
    second.download = .milliseconds(5)
    var sum = Timings()
    sum.dns = .milliseconds(1)
    sum.ttfb = .milliseconds(30)
    sum.download = .milliseconds(5)
    #expect(first.adding(second) == sum)
  }
}
