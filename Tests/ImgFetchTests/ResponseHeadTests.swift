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
    for line in ["HTTP/1.1 302 Found", "Content-Length: 9", "HTTP/1.1 200 OK"] {
      _ = head.take(line: Array(line.utf8))
    }
    #expect(head.status == 200)
    #expect(head.contentLength == nil)
  }
}
