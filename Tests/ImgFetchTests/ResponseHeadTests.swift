import ImgModel
import Testing

@testable import ImgFetch

/// What the fields of a head say.
@Suite(.timeLimit(.minutes(20))) struct ResponseHeadTests {
  // MARK: - The end of the body

  @Test(arguments: [
    ("Content-Length: 17", 17), ("content-length:17", 17), ("CONTENT-LENGTH:  17 ", 17),
    ("Content-Length: -1", nil), ("Content-Length: many", nil),
    ("Content-Length: 99999999999999999999", nil), ("X-Content-Length: 17", nil),
  ])
  func `the declared length is read whatever the case`(line: String, length: Int?) {
    #expect(responseHead([line]).contentLength == length)
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
    let framing = responseHead(lines).framing
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
    let framing = responseHead(lines).framing
    #expect(framing.problem?.isLasting == isLasting)
    #expect(framing.contentLength == nil)
  }

  // MARK: - Retry-After

  @Test(arguments: [
    ("Retry-After: 7", 7), ("retry-after:7", 7), ("Retry-After: 0", nil),
    ("Retry-After: -7", nil), ("Retry-After: soon", nil), ("Retry-After:", nil),
    ("Retry-After: 99999999999999999999", .max), ("Retry-After: 7.5", nil),
    ("Retry-After: Sun, 06 Nov 1994 08:49:37 GMT", 7),
    ("Retry-After: Sunday, 06-Nov-94 08:49:37 GMT", 7),
    ("Retry-After: Sun, 06 Nov 1994 08:49:30 GMT", nil), ("Date: 7", nil),
  ])
  func `RFC 9110 10.2.3: Retry-After is in seconds or a date`(line: String, seconds: Int64?) {
    // 7 seconds before 08:49:37.
    let receivedAt = WallTime(rawValue: 784_111_770_000)
    #expect(responseHead([line], receivedAt: receivedAt).retryAfter?.seconds == seconds)
  }

  @Test func `a part of a second counts as a whole one`() {
    let receivedAt = WallTime(rawValue: 784_111_770_001)
    let line = "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT"
    #expect(responseHead([line], receivedAt: receivedAt).retryAfter?.seconds == 7)
  }

  // MARK: - Redirects and bodies

  @Test(arguments: [
    (301, "/a"), (302, "/a"), (303, "/a"), (307, "/a"), (308, "/a"), (300, nil), (304, nil),
    (305, nil), (306, nil), (200, nil), (404, nil),
  ])
  func `RFC 9110 15.4: five statuses redirect`(status: Int, location: String?) {
    #expect(
      responseHead(["Location:", "Location: /a"], status: status).redirectLocation == location)
  }

  @Test(arguments: [
    (200, false), (206, false), (304, false), (300, true), (302, true), (404, true),
  ])
  func `the body of an error or a redirect is not used`(status: Int, isUnused: Bool) {
    #expect(responseHead([], status: status).hasUnusedBody == isUnused)
  }

  // MARK: - Opting out

  @Test func `the first X-Robots-Tag that opts out counts, for a picture alone`() {
    let lines = ["x-robots-tag:nofollow", "X-ROBOTS-TAG: noindex", "X-Robots-Tag: noai"]
    #expect(responseHead(lines).optOut == "noindex")
    #expect(responseHead(lines).optOutFailure?.code == .optedOut)
    #expect(responseHead(lines, status: 404).optOutFailure == nil)
    #expect(responseHead(["X-Robots-Tag: nofollow"]).optOutFailure == nil)
  }

  // MARK: - Parts

  @Test(arguments: [
    ("Accept-Ranges: bytes", true), ("accept-ranges: BYTES", true),
    ("Accept-Ranges: items, bytes", true), ("Accept-Ranges: none", false),
    ("Accept-Ranges:", false), ("X-Accept-Ranges: bytes", false),
  ])
  func `RFC 9110 14.3: an origin says whether it sends parts`(line: String, isAccepted: Bool) {
    #expect(responseHead([line]).acceptsByteRanges == isAccepted)
  }
}

/// Heads as they come, line by line.
@Suite(.timeLimit(.minutes(20))) struct HeadReaderTests {
  private var reader = HeadReader()
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
  mutating func `another line is no status line`(line: String) {
    reader.take([line])
    #expect(reader.status == nil)
    #expect(reader.head == nil)
  }

  @Test mutating func `a head is complete after its empty line`() {
    reader.take(["HTTP/1.1 200 OK\r\n", "Content-Length: 9\r\n"])
    #expect(reader.head == nil)
    reader.take(["\r\n"])
    #expect(reader.head?.status == 200)
    #expect(reader.head?.contentLength == 9)
    #expect(reader.head?.receivedAt == Self.now)
  }

  @Test mutating func `a new status line forgets the interim response before`() {
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

  @Test mutating func `RFC 9110 6.5.1: trailers are not part of the head`() {
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

@Suite(.timeLimit(.minutes(20))) struct HeadFieldTests {
  private func field(_ line: String) -> HeadField? { HeadField(Array(line.utf8)) }

  @Test(arguments: HeadField.Name.allCases)
  func `a name counts in either case`(name: HeadField.Name) {
    #expect(field("\(name.text): a")?.name == name)
    #expect(field("\(name.text.uppercased()): a")?.name == name)
  }

  @Test(arguments: [
    "", "\r\n", "ETag", ": a", "E-Tag: a", "ETags: a", "ETa: a", " ETag: a", "ETag : a",
    "cache\rcontrol: a", "Server: a",
  ])
  func `another line is none of the fields`(line: String) {
    #expect(field(line) == nil)
  }

  @Test(arguments: [
    ("ETag:a", "a"), ("ETag: a\r\n", "a"), ("ETag:\t a b \t\n", "a b"), ("ETag:", ""),
    ("ETag: \r\n", ""), ("ETag: a:b\r\n", "a:b"), ("ETag: \u{E9}", "\u{E9}"),
  ])
  func `a value is without the white space around it`(line: String, value: String) {
    #expect(field(line)?.value == value)
  }
}

@Suite(.timeLimit(.minutes(20))) struct HeadFieldsTests {
  @Test func `lines of one name are joined by commas, and each can be read alone`() {
    let fields = headFields(["Vary: Accept", "ETag: \"a\"", "vary:Cookie, Range"])
    #expect(fields[.vary] == "Accept, Cookie, Range")
    #expect(fields.values(of: .vary) == ["Accept", "Cookie, Range"])
    #expect(fields.members(of: .vary) == ["Accept", "Cookie", "Range"])
    #expect(fields[.entityTag] == "\"a\"")
  }

  @Test func `a field that is missing has no value, an empty one an empty value`() {
    let fields = headFields(["Vary:", "Server: a"])
    #expect(fields[.vary] == "")
    #expect(fields.members(of: .vary) == [""])
    #expect(fields[.age] == nil)
    #expect(fields.members(of: .age).isEmpty)
    #expect(fields.values(of: .age).isEmpty)
  }
}

/// Fields that are lists (RFC 9110 section 5.6.1).
@Suite(.timeLimit(.minutes(20))) struct FieldListTests {
  @Test(arguments: [
    ("", [""]), ("a", ["a"]), ("a,b", ["a", "b"]), (" a\t, b ", ["a", "b"]),
    (",a,,", ["", "a", "", ""]),
    ("a b, c", ["a b", "c"]), ("\u{E9}, b", ["\u{E9}", "b"]),
  ])
  func `RFC 9110 5.6.1: commas split a list, and white space around members does not count`(
    value: String, members: [String]
  ) {
    #expect(FieldList.members(of: value) == members)
  }

  @Test(arguments: [
    ("x=\"a, b\", c", ["x=\"a, b\"", "c"]), ("x=\"a\\\", b\", c", ["x=\"a\\\", b\"", "c"]),
    ("\"\", b", ["\"\"", "b"]), ("x=\"a, b", ["x=\"a", "b"]), ("x=\"a\\, \"b", ["x=\"a\\, \"b"]),
    ("\"a\", \"b, c", ["\"a\"", "\"b", "c"]),
  ])
  func `RFC 9110 5.6.4: a quoted comma does not split`(value: String, members: [String]) {
    #expect(FieldList.members(of: value) == members)
  }

  @Test func `quotation marks without partners take no longer than other bytes`() {
    let value = String(repeating: "\"\\", count: 32 << 10)
    #expect(FieldList.members(of: value) == [value])
  }
}

/// Entity tags (RFC 9110 section 8.8.3).
@Suite(.timeLimit(.minutes(20))) struct EntityTagTests {
  @Test(arguments: [("\"a\"", false), ("W/\"a\"", true), ("\"\"", false), ("\"a,b\\c\"", false)])
  func `RFC 9110 8.8.3: a tag is read and written as it came`(text: String, isWeak: Bool) throws {
    let tag = try #require(EntityTag(text))
    #expect(tag.isWeak == isWeak)
    #expect(tag.text == text)
  }

  @Test(arguments: [
    "", "a", "\"", "\"a", "a\"", "w/\"a\"", "W/a", "\"a b\"", "\"a\"b\"", "\"\u{E9}\"",
    "\"a\", \"b\"",
    "\"\(String(repeating: "a", count: 511))\"",
  ])
  func `RFC 9110 8.8.3: other text is no tag`(text: String) {
    #expect(EntityTag(text) == nil)
  }

  @Test func `RFC 9110 8.8.3.2: weak comparison ignores weakness`() throws {
    let tag = try #require(EntityTag("W/\"a\""))
    #expect(try tag.isWeaklyEqual(to: #require(EntityTag("\"a\""))))
    #expect(try !tag.isWeaklyEqual(to: #require(EntityTag("\"b\""))))
  }
}

/// RFC 9110 section 14.4.
@Suite struct ContentRangeTests {
  @Test(
    arguments: [
      ("bytes 0-0/1", 0...0, 1), ("bytes 42-1233/1234", 42...1233, 1234),
      ("bytes 42-1233/*", 42...1233, nil), ("BYTES 0-9/10", 0...9, 10),
      ("bytes */1234", nil, 1234), ("bytes */0", nil, 0),
    ] as [(String, ClosedRange<Int>?, Int?)])
  func `a part and a length are read`(text: String, range: ClosedRange<Int>?, length: Int?) {
    #expect(ContentRange(parsing: text) == ContentRange(range: range, completeLength: length))
  }

  @Test(arguments: [
    "", "bytes", "bytes ", "bytes=0-9/10", "0-9/10", "items 0-9/10", "bytes 9-0/10",
    "bytes 0-10/10", "bytes 0-9/9", "bytes 0-9", "bytes 0-/10", "bytes -9/10", "bytes -/10",
    "bytes */*", "bytes */", "bytes 0-9/", "bytes 0-9/10/11", "bytes 0-9-9/10", "bytes +0-9/10",
    "bytes 0 - 9/10", "bytes  0-9/10", "bytes 0-9/10 ", "bytes 0-9,20-29/30", "bytes 0-9/-1",
    "bytes 0-99999999999999999999/*", "bytes 0-9/99999999999999999999", "bytes a-b/c",
    "bytes 0-9/**", "bytes \u{0660}-9/10",
  ])
  func `text that is no part of bytes, or contradicts itself, is invalid`(text: String) {
    #expect(ContentRange(parsing: text) == nil)
  }
}
