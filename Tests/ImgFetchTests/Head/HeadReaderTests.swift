import ImgModel
import Testing

@testable import ImgFetch

/// Heads as they come, line by line.
@Suite(.timeLimit(.minutes(20))) struct HeadReaderTests {
  private static let now = WallTime(rawValue: 1_000)

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\n", 200), ("HTTP/1.0 404\r\n", 404), ("HTTP/2 503 \r\n", 503),
    ("HTTP/1.1 301 Moved Permanently", 301),
  ])
  func `a status line gives the status`(line: String, status: Int) {
    var reader = HeadReader()
    reader.take([line])
    #expect(reader.status == status)
    #expect(reader.head == nil)
  }

  @Test(arguments: ["", "\r\n", "HTTP/1.1\r\n", "HTTP/1.1 abc\r\n", "X-HTTP/1.1 200 OK\r\n"])
  func `another line is no status line`(line: String) {
    var reader = HeadReader()
    reader.take([line])
    #expect(reader.status == nil)
    #expect(reader.head == nil)
  }

  @Test func `a head is complete after its empty line`() {
    var reader = HeadReader()
    reader.take(["HTTP/1.1 200 OK\r\n", "Content-Length: 9\r\n"])
    #expect(reader.head == nil)
    reader.take(["\r\n"])
    #expect(reader.head?.status == 200)
    #expect(reader.head?.contentLength == 9)
    #expect(reader.head?.receivedAt == Self.now)
  }

  @Test func `a new status line forgets the interim response before`() {
    var reader = HeadReader()
    reader.take(["HTTP/1.1 103 Hints\r\n", "Content-Length: 9\r\n", "\r\n"])
    #expect(reader.head?.isInterim == true)
    reader.take(["HTTP/1.1 200 OK\r\n"])
    #expect(reader.status == 200)
    #expect(reader.head == nil)
    reader.take(["\r\n"])
    #expect(reader.head?.contentLength == nil)
  }

  @Test(arguments: [
    ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 500: odd\r\n", "\r\n"],
    ["HTTP/1.1 200 OK\r\n", "\r\n", "HTTP/1.1 500: a trailer\r\n"],
  ])
  func `a field that looks like a status line is none`(lines: [String]) {
    var reader = HeadReader()
    reader.take(lines)
    #expect(reader.head?.status == 200)
  }

  @Test func `RFC 9110 6.5.1: trailers are not part of the head`() {
    var reader = HeadReader()
    reader.take([
      "HTTP/1.1 200 OK\r\n", "Age: 5\r\n", "\r\n", "Cache-Control: max-age=9\r\n",
      "X-Robots-Tag: noai\r\n", "\r\n",
    ])
    #expect(reader.head?.caching[.age] == "5")
    #expect(reader.head?.caching[.cacheControl] == nil)
    #expect(reader.head?.optOut == nil)
  }

  @Test func `the heads of all responses to a request count together`() {
    var reader = HeadReader(byteCount: HeadReader.maximumByteCount - 19)
    #expect(reader.take(["HTTP/1.1 200 OK\r\n", "\r\n"]) == ["incomplete", "complete"])
    #expect(!reader.isTooLong)
    #expect(reader.take(["\r\n"]) == ["too long"])
    #expect(reader.isTooLong)
  }

  @Test func `a head that ends beyond the limit is not complete`() {
    var reader = HeadReader(byteCount: HeadReader.maximumByteCount - 17)
    #expect(reader.take(["HTTP/1.1 404 No\r\n", "\r\n"]) == ["incomplete", "too long"])
    #expect(reader.status == 404)
  }
}

extension HeadReader {
  /// Takes lines, and says what each completes.
  @discardableResult
  fileprivate mutating func take(_ lines: [String]) -> [String] {
    lines.map { line in
      switch take(line: Array(line.utf8), at: WallTime(rawValue: 1_000)) {
      case .incomplete: "incomplete"
      case .complete: "complete"
      case .tooLong: "too long"
      }
    }
  }
}
