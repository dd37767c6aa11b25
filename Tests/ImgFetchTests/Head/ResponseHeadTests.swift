import ImgModel
import Testing

@testable import ImgFetch

@Suite struct ResponseHeadTests {
  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\n", 200), ("HTTP/1.0 404\r\n", 404), ("HTTP/2 503 \r\n", 503),
    ("HTTP/1.1 301 Moved Permanently", 301),
  ])
  func `a status line gives the status`(line: String, status: Int) {
    var head = ResponseHead()
    let isStatusLine = head.take(line: Array(line.utf8))
    #expect(isStatusLine)
    #expect(head.status == status)
  }

  @Test(arguments: ["", "\r\n", "HTTP/1.1\r\n", "HTTP/1.1 abc\r\n", "X-HTTP/1.1 200 OK\r\n"])
  func `another line is no status line`(line: String) {
    var head = ResponseHead()
    let isStatusLine = head.take(line: Array(line.utf8))
    #expect(!isStatusLine)
    #expect(head.status == nil)
  }

  @Test(arguments: [
    ("Content-Length: 17\r\n", 17), ("content-length:17", 17), ("CONTENT-LENGTH:  17 \r\n", 17),
    ("Content-Length: -1\r\n", nil), ("Content-Length: many\r\n", nil),
    ("Content-Length: 99999999999999999999\r\n", nil), ("X-Content-Length: 17\r\n", nil),
  ])
  func `the declared length is read whatever the case`(line: String, length: Int?) {
    var head = ResponseHead()
    let isStatusLine = head.take(line: Array(line.utf8))
    #expect(!isStatusLine)
    #expect(head.contentLength == length)
  }

  @Test func `a new status line forgets the answer before`() {
    var head = ResponseHead()
    for line in ["HTTP/1.1 103 Hints", "Content-Length: 9", "\r\n", "HTTP/1.1 200 OK"] {
      _ = head.take(line: Array(line.utf8))
    }
    #expect(head.status == 200)
    #expect(head.contentLength == nil)
  }

  @Test(arguments: [
    ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 500: odd\r\n", "\r\n"],
    ["HTTP/1.1 200 OK\r\n", "\r\n", "HTTP/1.1 500: a trailer\r\n"],
  ])
  func `a field that looks like a status line is none`(lines: [String]) {
    var head = ResponseHead()
    for line in lines { head.take(line: Array(line.utf8)) }
    #expect(head.status == 200)
    #expect(head.isComplete)
  }

  @Test(
    arguments: [
      (["Content-Length: 5"], 5), (["Content-Length: 5", "Content-Length: 5, 05"], 5),
      (["Content-Length: 5", "Transfer-Encoding: Chunked"], nil),
      (["Content-Length: 5", "Content-Length: 6", "Transfer-Encoding: chunked"], nil),
      (["Transfer-Encoding: identity", "Content-Length: 5"], 5), ([], nil),
      (["Content-Length: 99999999999999999999"], nil),
    ] as [([String], Int?)])
  func `RFC 9112 6.3: the end of a body is known`(lines: [String], length: Int?) {
    let framing = framing(lines)
    #expect(framing.problem == nil)
    #expect(framing.contentLength == length)
  }

  @Test(
    arguments: [
      (["Content-Length: 5", "Content-Length: 6"], false), (["Content-Length: 5, 6"], false),
      (["Content-Length: -5"], false), (["Content-Length: +5"], false),
      (["Content-Length: 5 6"], false), (["Content-Length: 0x5"], false),
      (["Content-Length: 5,"], false), (["Content-Length:"], false),
      (["Transfer-Encoding: gzip, chunked"], true), (["Transfer-Encoding: gzip"], true),
      (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], true),
      (["Transfer-Encoding: chunked, gzip"], true), (["Transfer-Encoding: bogus"], true),
    ] as [([String], Bool)])
  func `RFC 9112 6.3: the end of a body is not known`(lines: [String], isLasting: Bool) {
    let framing = framing(lines)
    #expect(framing.problem?.isLasting == isLasting)
    #expect(framing.contentLength == nil)
  }

  private func framing(_ lines: [String]) -> BodyFraming {
    var head = ResponseHead()
    for line in ["HTTP/1.1 200 OK"] + lines { head.take(line: Array(line.utf8)) }
    return head.framing
  }

  @Test(arguments: [
    ("Retry-After: 7\r\n", 7), ("retry-after:7", 7), ("Retry-After: 0", nil),
    ("Retry-After: -7", nil), ("Retry-After: soon", nil), ("Retry-After:", nil),
    ("Retry-After: 99999999999999999999", .max), ("Retry-After: 7.5", nil),
    ("Retry-After: Sun, 06 Nov 1994 08:49:37 GMT", 7),
    ("Retry-After: Sun, 06 Nov 1994 08:49:30 GMT", nil), ("Date: 7", nil),
  ])
  func `a wish to be left alone is a number of seconds or a date`(line: String, seconds: Int64?) {
    var head = ResponseHead()
    head.take(line: Array(line.utf8))
    // 7 seconds before 08:49:37.
    #expect(head.retryAfterSeconds(at: WallTime(rawValue: 784_111_770_000)) == seconds)
  }

  @Test func `the wish of an answer before is not the next one's`() {
    var head = ResponseHead()
    for line in ["HTTP/1.1 103 Hints\r\n", "Retry-After: 7\r\n", "\r\n", "HTTP/1.1 404 No\r\n"] {
      head.take(line: Array(line.utf8))
    }
    #expect(head.retryAfterSeconds(at: WallTime(rawValue: 0)) == nil)
  }
}
