import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// Answers that break HTTP, and what they fail with.
@Suite(.timeLimit(.minutes(20))) struct HostileResponseTests {
  @Test(
    arguments: HostileResponse.notHTTP + HostileResponse.brokenFields
      + HostileResponse.brokenChunks)
  func `a response that is not HTTP is invalid and retryable`(answer: String) throws {
    let failure = try #require(answering(answer).failure)
    #expect(failure.code == .invalidResponse, "\(failure.detail)")
    #expect(failure.isRetryable)
  }

  @Test(arguments: HostileResponse.transferCodings)
  func `a transfer coding not asked for is refused before the body`(coding: String) throws {
    let transfer = try answering(HostileResponse.coded(coding))
    #expect(transfer.failure?.code == .invalidResponse)
    #expect(transfer.bytesReceived == 0)
  }

  @Test(arguments: HostileResponse.brokenOff)
  func `a response that breaks off is truncated and retryable`(answer: String) throws {
    let failure = try #require(answering(answer).failure)
    #expect(failure.code == .truncatedBody, "\(failure.detail)")
    #expect(failure.isRetryable)
  }

  @Test(arguments: HostileResponse.neverBegun)
  func `a response that does not begin is a failed connection`(answer: String) throws {
    let failure = try #require(answering(answer).failure)
    #expect(failure.code == .connectFailure, "\(failure.detail)")
    #expect(failure.isRetryable)
  }

  @Test(arguments: HostileResponse.empty)
  func `a body that is empty by its head is no image`(answer: String) throws {
    #expect(try answering(answer).failure?.code == .notAnImage)
  }

  @Test(arguments: HostileResponse.withoutPicture)
  func `a status without a picture is the failure of the response`(answer: String) throws {
    let failure = try #require(answering(answer).failure)
    #expect(failure.code == .httpStatus, "\(failure.detail)")
  }

  @Test func `a length that is no number of this machine is too large`() throws {
    #expect(try answering(HostileResponse.tooLong).failure?.code == .tooLarge)
  }

  @Test(arguments: HostileResponse.taken)
  func `an odd response with one meaning is taken`(answer: String) throws {
    let transfer = try answering(answer)
    #expect(transfer.body?.bytes == [UInt8(ascii: "x")], "\(transfer.failure?.detail ?? "")")
  }

  private func answering(_ text: String) throws -> FinishedTransfer {
    let listener = try RawListener()
    return try Fetcher().fetch(listener.baseURL) { listener.answer(with: text) }
  }
}

/// Answers as they come over a connection, by what they fail with.
enum HostileResponse {
  private static let ok = "HTTP/1.1 200 OK\r\n"
  private static let sized = "Content-Length: 1\r\n\r\nx"
  private static let chunked = "\(ok)Transfer-Encoding: chunked\r\n\r\n"
  private static let last = "1\r\nx\r\n0\r\n"

  // MARK: - Invalid

  static let notHTTP: [String] = [
    "SSH-2.0-server\r\n", String(repeating: "x", count: 5_000), "HTTP/1.1 \r\n\r\n",
    "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
    "HTTP/1.1 000 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1 -20 OK\r\n\r\n",
    "HTTP/9.9 200 OK\r\n\(sized)", "HTTP/3 200\r\n\(sized)", "HTTP/1.2 200 OK\r\n\(sized)",
    "HTTP/11.1 200 OK\r\n\(sized)", "http/1.1 200 OK\r\n\(sized)", "ICY 200 OK\r\n\(sized)",
    "RTSP/1.0 200 OK\r\n\(sized)", "\r\n\r\n\(ok)\(sized)", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "\0\0\0\u{4}\0\0\0\0\0", "HTTP/1.1 200 O\0K\r\n\(sized)",
    "HTTP/1.1 100 Continue\r\n\r\nSSH-2.0-server\r\n",
  ]

  static let brokenFields: [String] = [
    "\(ok)garbage\r\n\(sized)", "\(ok)X: a\0b\r\n\(sized)", "\(ok) folded\r\n\(sized)",
    "\(ok)Content-Length: 2\r\n\(sized)", "\(ok)Content-Length: 1, 2\r\n\(sized)",
    "\(ok)Content-Length: -1\r\n\(sized)", "\(ok)Content-Length: +1\r\n\(sized)",
    "\(ok)Content-Length: 0x1\r\n\(sized)", "\(ok)Content-Length: abc\r\n\(sized)",
    "\(ok)Content-Length: 1abc\r\n\(sized)", "\(ok)Content-Length:\r\n\(sized)",
  ]

  static let brokenChunks: [String] = [
    "\(chunked)zz\r\nx\r\n0\r\n\r\n", "\(chunked)-1\r\nx\r\n0\r\n\r\n",
    "\(chunked)ffffffffffffffffff\r\nx", "\(chunked)1\r\nxx0\r\n\r\n",
    "\(chunked)\r\nx\r\n0\r\n\r\n", "\(chunked)00000000000000000000000001\r\nx\r\n0\r\n\r\n",
    "\(chunked)\(last)garbage\r\n\r\n", "\(chunked)\(last)X: a\0b\r\n\r\n",
    "\(chunked)\(last)X: y\rz\r\n\r\n", "\(chunked)\(last)HTTP/1.1 500 Error\r\n\r\n",
    "\(chunked)\(last)X: \(String(repeating: "y", count: 110_000))\r\n\r\n",
  ]

  static let transferCodings: [String] = [
    "gzip, chunked", "chunked, chunked", "gzip", "br", "bogus", "chunked, gzip",
    "x-gzip, identity", Array(repeating: "gzip", count: 20).joined(separator: ", "),
  ]

  static func coded(_ coding: String) -> String {
    "\(ok)Transfer-Encoding: \(coding)\r\n\r\n\(last)\r\n"
  }

  // MARK: - Others

  /// What the connection ended in the middle of.
  static let brokenOff: [String] = [
    ok, "\(ok)Content-Length: 5\r\n", "\(ok)Content-Length: 5\r\nContent-", "\(ok)\r\n",
    "HTTP/1.0 200 OK\r\n\r\n", "\(ok)Content-Length: 5\r\n\r\nx", "\(chunked)5\r\nxx",
    "\(chunked)1\r\nx\r\n", "\(chunked)7fffffffffffffff\r\nx", "\(chunked)\(last)",
    "\(chunked)\(last)X: y\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
  ]

  static let neverBegun: [String] = [
    "", "HTTP/1.1", "HTTP/1.1 200", "HTTP/1.1 200 OK\rContent-Length: 1\r\rx",
  ]

  static let tooLong = "\(ok)Content-Length: 99999999999999999999999\r\n\r\nx"

  static let empty: [String] = ["\(ok)Content-Length: 0\r\n\r\n", "\(chunked)0\r\n\r\n"]

  static let withoutPicture: [String] = [
    "HTTP/1.1 101 Switching\r\n\r\nx", "HTTP/1.1 999 No\r\n\(sized)",
    "HTTP/1.1 204 Empty\r\n\(sized)", "HTTP/1.1 302 Found\r\nLocation: \r\n\(sized)",
    "HTTP/1.1 404 No\r\nTransfer-Encoding: gzip\r\n\r\nx",
    "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\(sized)",
  ]

  /// What is odd and means one thing only: the body `x`.
  static let taken: [String] = [
    "HTTP/2 200\r\n\(sized)", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
    "HTTP/1.0 200 OK\r\n\r\nx", "\(ok)X: a\r\n b\r\n\(sized)",
    "\(ok)Content-Length : 9\r\n\(sized)", "\(ok)Content-Length: 1\r\n\(sized)",
    "\(ok): x\r\n\(sized)", "\(ok)\(sized)yz", "\(ok)Content-Encoding: none\r\n\(sized)",
    "\(ok)Transfer-Encoding: identity\r\n\(sized)", "\(ok)HTTP/1.1 500: odd\r\n\(sized)",
    "\(ok)Content-Range: bytes 5-9/10\r\n\(sized)",
    "\(ok)Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n\(last)\r\n",
    "\(ok)Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n\(last)\r\n",
    "\(chunked)1;\(String(repeating: "a", count: 30_000))\r\nx\r\n0\r\n\r\n",
    "\(chunked)\(last)X: y\n\n", "\(chunked)\(last)Content-Length: 9\r\n\r\n",
    "\(chunked)\(last)HTTP/1.1 500: a trailer\r\n\r\n",
    "\(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 200))\(ok)\(sized)",
    "HTTP/1.1 102 Wait\r\nContent-Length: 3\r\n\r\n\(ok)\(sized)",
  ]
}

/// Answers whose headers alone are too much.
@Suite(.timeLimit(.minutes(20))) struct HeadLimitTests {
  private static let limit = 64 << 10

  @Test(arguments: [(-1, nil), (0, nil), (1, Failure.Code.tooLarge)])
  func `headers of up to 64 KiB are taken`(excess: Int, code: Failure.Code?) throws {
    let start = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
    let end = "\r\n"
    let padding = padding(Self.limit + excess - start.utf8.count - end.utf8.count)
    let transfer = try answering(start + padding + end + "x")
    #expect(transfer.failure?.code == code)
    #expect((transfer.body?.bytes == [UInt8(ascii: "x")]) == (code == nil))
  }

  @Test func `the headers of redirects count together`() throws {
    let origin = TestOrigin()
    let location = Header("Location", "/a")
    let large = Header("X-Large", String(repeating: "x", count: 20_000))
    origin.serve("/a", .response(Response(status: 302, headers: [location, large])))
    let failure = try #require(Fetcher().fetch(origin.baseURL + "/a").failure)
    #expect(failure.code == .tooLarge)
    #expect(failure.httpStatus == 302)
    #expect(origin.counters("/a").requests == 4)
  }

  @Test func `interim answers without end are cut off`() throws {
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    let transfer = try answering(String(repeating: interim, count: 1_700))
    #expect(transfer.failure?.code == .tooLarge)
  }

  @Test func `trailers without end are cut off`() throws {
    let start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    let transfer = try answering(start + String(repeating: "X-Trailer: x\r\n", count: 5_000))
    #expect(transfer.failure?.code == .tooLarge)
  }

  @Test(arguments: ["HTTP/1.1 200 OK\r\nX-Endless: ", "HTTP/1.1 200 "])
  func `a line of a head without end is cut off`(start: String) throws {
    let transfer = try answering(start + String(repeating: "x", count: 110_000))
    let failure = try #require(transfer.failure)
    #expect(failure.code == .tooLarge)
    #expect(!failure.isRetryable)
  }

  @Test func `an error with headers without end keeps its status`() throws {
    let transfer = try answering("HTTP/1.1 503 Busy\r\n" + padding(70_000) + "\r\n")
    #expect(transfer.failure?.code == .httpStatus)
    #expect(transfer.failure?.httpStatus == 503)
  }

  /// Header lines of so many bytes together, none of them long.
  private func padding(_ byteCount: Int) -> String {
    let line = "X-Padding: " + String(repeating: "x", count: 87) + "\r\n"
    let rest = byteCount % line.utf8.count + line.utf8.count
    return String(repeating: line, count: byteCount / line.utf8.count - 1)
      + "X: " + String(repeating: "x", count: rest - 5) + "\r\n"
  }

  private func answering(_ text: String) throws -> FinishedTransfer {
    let listener = try RawListener()
    return try Fetcher().fetch(listener.baseURL) { listener.answer(with: text) }
  }
}

/// Answers that keep libcurl at work without end.
@Suite(.timeLimit(.minutes(20))) struct FloodTests {
  @Test func `a body of one-byte chunks has its part of each turn, and is given up`() throws {
    let flood = try FloodOrigin.chunkedPicture(endingIn: "1\r\nX\r\n")
    let fetcher = try Fetcher { $0.maxBodyByteCount = 4 << 20 }
    var turnCount = 0
    let transfer = try fetcher.fetch(flood.baseURL) { turnCount += 1 }
    #expect(transfer.failure?.code == .tooLarge)
    #expect(transfer.failure?.isRetryable == false)
    // Of the 4 MiB, 11 KB a turn come in of what fills the read buffer.
    #expect(transfer.bytesReceived < 2 << 20)
    #expect(turnCount >= 128)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test func `a body of short chunks is whole, and takes as many turns as it needs`() throws {
    let picture = noise(200_000)
    var answer = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
    for start in stride(from: 0, to: picture.count, by: 100) {
      answer += Array("64\r\n".utf8) + picture[start..<start + 100] + Array("\r\n".utf8)
    }
    answer += Array("0\r\n\r\n".utf8)
    let listener = try RawListener()
    let transfer = try Fetcher().fetch(listener.baseURL) { listener.answer(with: answer) }
    #expect(try #require(transfer.body).holds(picture))
  }
}
