import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

@Suite(.timeLimit(.minutes(20))) struct FetchTests {
  @Test func `a body comes in byte for byte`() throws {
    let origin = TestOrigin()
    let picture = noise(300_000)
    origin.serve("/a.jpg", .body(picture, contentType: "image/jpeg"))
    let url = origin.baseURL + "/a.jpg"

    let transfer = try Fetcher().fetch(url)

    let body = try #require(transfer.body)
    #expect(body.bytes == picture)
    #expect(transfer.bytesReceived == picture.count)
  }

  @Test func `two hundred transfers run side by side and keep their bodies apart`() throws {
    let origin = TestOrigin { path, _ in
      .body(noise(5_000, seed: UInt64(path.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })))
    }
    let paths = (0..<200).map { "/\($0)" }
    let fetcher = try Fetcher { $0.transfers = 200 }

    let transfers = try fetcher.fetch(paths.map { origin.baseURL + $0 })

    for (path, transfer) in zip(paths, transfers) {
      let expected = noise(5_000, seed: UInt64(path.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) }))
      #expect(transfer.body?.bytes == expected)
    }
    #expect(fetcher.pool.activeCount == 0)
  }

  @Test func `transfers one after the other share a connection, also over an error`() throws {
    let origin = TestOrigin()
    origin.serve("/a", .body([1]))
    let fetcher = try Fetcher()

    for path in ["/a", "/missing", "/a"] { _ = try fetcher.fetch(origin.baseURL + path) }

    #expect(origin.totals().requests == 3)
    #expect(origin.totals().connectionsOpened == 1)
  }

  @Test func `a request asks for images, uncompressed, and names its maker`() throws {
    let origin = TestOrigin()
    origin.serve("/a", .body([1]))

    _ = try Fetcher().fetch(origin.baseURL + "/a")

    let headers = origin.counters("/a").headersSeen
    #expect(headers["accept"]?.hasPrefix("image/") == true)
    #expect(headers["accept-encoding"] == "identity")
    #expect(headers["cookie"] == nil)
    #expect(headers["user-agent"] == "imgctl-test/1")
  }

  @Test func `letters beyond ASCII in a path are percent-encoded`() throws {
    let origin = TestOrigin()
    _ = try Fetcher().fetch(origin.baseURL + "/gr\u{FC}n?x=\u{E9}")
    #expect(origin.snapshot.paths.keys.sorted() == ["/gr%C3%BCn", "/gr%C3%BCn?x=%C3%A9"])
  }

  @Test func `a cancelled transfer ends at the origin and is not reported`() throws {
    let origin = TestOrigin()
    origin.serve("/a", .body(noise(1 << 20), delivery: .drip(bytesPerSecond: 10_000)))
    let fetcher = try Fetcher()
    let id = try fetcher.start(origin.baseURL + "/a")
    try fetcher.run { origin.counters("/a").bytesSent > 0 }

    fetcher.pool.cancel(id)

    #expect(fetcher.pool.activeCount == 0)
    #expect(fetcher.pool.takeFinished().isEmpty)
    #expect(origin.waitUntil { $0["/a"].aborted == 1 })
  }

  @Test func `a result that was not taken yet can be cancelled`() throws {
    let fetcher = try Fetcher()
    let id = try fetcher.start("http://127.0.0.1:99999/")
    fetcher.pool.cancel(id)
    #expect(fetcher.pool.takeFinished().isEmpty)
  }

  @Test func `a handle that was cancelled serves the next transfer`() throws {
    let origin = TestOrigin()
    origin.serve("/held", .body([1], delivery: .hold))
    origin.serve("/a", .body([2]))
    let fetcher = try Fetcher()
    let id = try fetcher.start(origin.baseURL + "/held")
    fetcher.pool.cancel(id)
    #expect(try fetcher.fetch(origin.baseURL + "/a").body?.bytes == [2])
  }

  @Test func `time that has passed before counts`() throws {
    let origin = TestOrigin()
    origin.serve("/a", .body([1], delivery: .hold))
    let fetcher = try Fetcher()
    let id = try fetcher.start(origin.baseURL + "/a", begunAt: .now - .seconds(60))
    try fetcher.run { fetcher.finished[id] != nil }
    #expect(fetcher.finished[id]?.failure?.code == .timeout)
  }
}

@Suite(.timeLimit(.minutes(20))) struct FetchFailureTests {
  private let origin = TestOrigin()

  // MARK: What the origin says

  @Test(arguments: [
    (404, false), (403, false), (410, false), (429, true), (500, true), (503, true),
  ])
  func `a status from 400 on is a failure with that status`(status: Int, isRetryable: Bool) throws {
    let origin = TestOrigin()
    origin.serve("/a", .status(status))
    let failure = try #require(Fetcher().fetch(origin.baseURL + "/a").failure)
    #expect(failure.stage == .fetch)
    #expect(failure.code == .httpStatus)
    #expect(failure.httpStatus == status)
    #expect(failure.isRetryable == isRetryable)
  }

  @Test func `the page of an error is not read without end`() throws {
    origin.serve("/a", .response(Response(status: 500, delivery: .endless)))
    let transfer = try Fetcher().fetch(origin.baseURL + "/a")
    #expect(transfer.failure?.httpStatus == 500)
    #expect(transfer.bytesReceived < 1 << 20)
  }

  @Test(arguments: [204, 206, 300, 304])
  func `a status that brings no whole body and leads nowhere is a failure`(status: Int) throws {
    origin.serve("/a", .status(status))
    let failure = try #require(Fetcher().fetch(origin.baseURL + "/a").failure)
    #expect(failure.code == .httpStatus)
    #expect(failure.httpStatus == status)
    #expect(!failure.isRetryable)
  }

  // MARK: Size

  @Test func `a declared length over the limit is refused before the body`() throws {
    origin.serve("/a", .body(noise(10_001)))
    let transfer = try Fetcher { $0.maxBodyByteCount = 10_000 }.fetch(origin.baseURL + "/a")
    #expect(transfer.failure?.code == .tooLarge)
    #expect(transfer.bytesReceived == 0)
  }

  @Test(arguments: [BodyDelivery.whole, .chunked])
  func `a body of exactly the limit is taken`(delivery: BodyDelivery) throws {
    origin.serve("/a", .body(noise(10_000), delivery: delivery))
    let transfer = try Fetcher { $0.maxBodyByteCount = 10_000 }.fetch(origin.baseURL + "/a")
    #expect(transfer.body?.bytes.count == 10_000)
  }

  @Test func `a body without end is cut off at the limit`() throws {
    origin.serve("/a", .body([], delivery: .endless))
    let transfer = try Fetcher { $0.maxBodyByteCount = 100_000 }.fetch(origin.baseURL + "/a")
    #expect(transfer.failure?.code == .tooLarge)
    #expect(transfer.failure?.isRetryable == false)
  }

  // MARK: Broken bodies

  @Test(arguments: [
    BodyDelivery.cut(after: 5_000), .cut(after: 5_000, declaresLength: false), .reset(after: 5_000),
    .wrongLength(declared: 20_000),
  ])
  func `a body that breaks off is truncated`(delivery: BodyDelivery) throws {
    let origin = TestOrigin()
    origin.serve("/a", .body(noise(10_000), delivery: delivery))
    let failure = try #require(Fetcher().fetch(origin.baseURL + "/a").failure)
    #expect(failure.code == .truncatedBody)
    #expect(failure.isRetryable)
  }

  // MARK: Time

  @Test func `an origin that does not answer in time is a timeout of the whole`() throws {
    origin.serve("/a", .body([1], delivery: .hold))
    let fetcher = try Fetcher { $0.transferTimeout = .milliseconds(300) }
    let failure = try #require(fetcher.fetch(origin.baseURL + "/a").failure)
    #expect(failure.code == .timeout)
    #expect(failure.isRetryable)
    #expect(failure.detail == "the host has sent nothing within --transfer-timeout 300ms")
  }

  @Test(.ownThread) func `a body that stops coming is a timeout of the stalled`() throws {
    origin.serve("/a", .body(noise(10_000), delivery: .stall(after: 100)))
    origin.serve("/silent", .body([1], delivery: .hold))
    let fetcher = try Fetcher { $0.stallTimeout = .seconds(1) }
    let failure = try #require(fetcher.fetch(origin.baseURL + "/a").failure)
    #expect(failure.code == .timeout)
    #expect(failure.detail == "less than 1 KiB/s came for 1 s (--stall-timeout)")
    let silence = try #require(fetcher.fetch(origin.baseURL + "/silent").failure)
    #expect(silence.detail == "the host has sent nothing for 1 s (--stall-timeout)")
  }

  @Test func `a body whose time is over tells how much time it would have needed`() throws {
    origin.serve("/a", .body(noise(10_000), delivery: .stall(after: 4_000)))
    let fetcher = try Fetcher { $0.transferTimeout = .milliseconds(500) }
    let failure = try #require(fetcher.fetch(origin.baseURL + "/a").failure)
    #expect(
      failure.detail
        == "the transfer took longer than --transfer-timeout 500ms; 4000 of 10000 bytes came, "
        + "which needs --transfer-timeout 10s at this rate")
  }

  @Test func `a connection that does not stand in time is a timeout of connecting`() throws {
    let listener = try RawListener()
    try listener.fillQueue()
    let fetcher = try Fetcher { $0.connectTimeout = .milliseconds(300) }
    let failure = try #require(fetcher.fetch(listener.baseURL).failure)
    #expect(failure.code == .timeout)
    // libcurl's words depend on which of its two clocks sees the limit first.
    let texts = ["Failed to connect", "Connection timeout after 300 ms"]
    #expect(texts.contains { failure.detail.contains($0) }, "\(failure.detail)")
  }

  // MARK: No connection

  @Test func `a port without a listener is a failure to connect`() throws {
    origin.stop()
    let failure = try #require(Fetcher().fetch(origin.baseURL + "/a").failure)
    #expect(failure.code == .connectFailure)
    #expect(failure.isRetryable)
    #expect(
      failure.detail
        == "Failed to connect to 127.0.0.1 port \(origin.port): Connection refused (ECONNREFUSED)")
  }

  @Test func `a look-up that takes too long leaves a name unresolved`() throws {
    FakeResolver.serve("slow.test", ["127.0.0.1"])
    let fetcher = try Fetcher { $0.connectTimeout = .milliseconds(300) }
    try FakeResolver.holding("slow.test") {
      let end = try fetcher.fetch("http://slow.test:\(origin.port)/a")
      #expect(end.failure?.code == .timeout)
      #expect(end.unresolvedHost == "slow.test")
    }
    #expect(try fetcher.fetch("http://none.invalid/a").unresolvedHost == "none.invalid")
  }

  @Test func `a name without an address is a failure of the name service`() throws {
    #expect(try Fetcher().fetch("http://nothing.invalid/").failure?.code == .dnsFailure)
  }

  /// The origin keeps the connection open behind its answer: a close with bytes unread would reset
  /// the connection, and the answer can be lost.
  @Test func `an origin without TLS at an https URL is a failure of TLS`() throws {
    let listener = try RawListener()
    let url = listener.baseURL.replacing("http:", with: "https:")
    let refusal = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
    let failure = try #require(Fetcher().fetch(url) { listener.answer(with: refusal) }.failure)
    #expect(failure.code == .tlsFailure)
    #expect(!failure.isRetryable)
    #expect(failure.detail.contains("http://"))
  }

  /// The second begins a record of the handshake (RFC 8446 section 5.1) that does not end.
  @Test(arguments: ["", "\u{16}\u{3}\u{3}\0P"])
  func `a connection that ends in the TLS handshake is retryable`(text: String) throws {
    let listener = try RawListener()
    let url = listener.baseURL.replacing("http:", with: "https:")
    let failure = try #require(Fetcher().fetch(url) { listener.answer(with: text) }.failure)
    #expect(failure.code == .tlsFailure)
    #expect(failure.isRetryable)
  }

  @Test(arguments: ["http://127.0.0.1:99999/", "http://[::1/", "http://127.0.0.1:http/"])
  func `a URL whose port or address is malformed is invalid`(url: String) throws {
    // Refused before it reaches libcurl, or by libcurl's parser.
    let failure = Result { try Fetcher().fetch(url).failure }
    switch failure {
    case .success(let failure): #expect(failure?.code == .invalidURL)
    case .failure(let error): #expect((error as? Failure)?.code == .invalidURL)
    }
  }
}
