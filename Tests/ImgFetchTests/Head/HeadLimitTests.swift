import ImgFetch
import ImgModel
import TestOrigin
import Testing

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
    let origin = try TestOrigin()
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
