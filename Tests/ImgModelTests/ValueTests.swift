import ImgModel
import Testing

@Suite struct ImageURLTests {
  @Test(arguments: [
    ("https://example.com/a.jpg", "https://example.com/a.jpg", "example.com"),
    ("HTTP://Example.COM:8080/A?B=C#frag", "http://example.com:8080/A?B=C", "example.com"),
    ("http://user:Pass@Host/x", "http://user:Pass@host/x", "host"),
    ("http://[::1]:80/", "http://[::1]:80/", "[::1]"),
    ("http://example.com?x=/@y", "http://example.com?x=/@y", "example.com"),
    ("http://example.com#/a", "http://example.com", "example.com"),
  ])
  func `a URL has one spelling`(line: String, text: String, host: String) throws {
    let url = try ImageURL(parsing: line)
    #expect(url.text == text)
    #expect(url.host == host)
  }

  @Test(arguments: [
    "https://h/a", "https://h:443/a", "http://h:8080", "http://H/", "http://h./", "http://h.:80/a",
    "http://h:/a", "http://user:word@h:81/", "http://a@b@h/", "http://h?x=@other:1",
  ])
  func `one host is one, whatever port, scheme, spelling and user`(line: String) throws {
    #expect(try ImageURL(parsing: line).host == "h")
  }

  @Test(arguments: [
    ("http://[2001:DB8::1]/a", "[2001:db8::1]"), ("http://[2001:db8::1]:8080/", "[2001:db8::1]"),
    ("http://me@[::1]:80?x", "[::1]"), ("http://127.0.0.1:8000/", "127.0.0.1"),
    ("http://www.h/", "www.h"),
  ])
  func `addresses and other names are hosts of their own`(line: String, host: String) throws {
    #expect(try ImageURL(parsing: line).host == host)
  }

  @Test(
    arguments: [
      ("", Failure.Code.invalidURL), ("example.com/a.jpg", .invalidURL),
      ("//example.com", .invalidURL),
      ("http:example.com", .invalidURL), ("http://", .invalidURL), ("http:///a", .invalidURL),
      ("http://:80/", .invalidURL), ("http://./", .invalidURL), ("http://me@/", .invalidURL),
      ("http://a b/", .invalidURL), ("http://a/\u{1}", .invalidURL),
      ("http://a/\u{7F}", .invalidURL), ("http://a/\t", .invalidURL),
      ("http://a/\u{FFFD}", .invalidURL), ("1http://a/", .invalidURL), ("http:\\\\a", .invalidURL),
      ("ftp://example.com/a", .unsupportedScheme), ("gopher://a/etc/passwd", .unsupportedScheme),
      ("javascript:alert(1)", .unsupportedScheme), ("data:image/png", .invalidURL),
      ("data:,a\u{1}", .invalidURL),
    ] as [(String, Failure.Code)])
  func `what cannot be fetched is named`(line: String, code: Failure.Code) throws {
    let failure = try #require(throws: Failure.self) { try ImageURL(parsing: line) }
    #expect(failure.code == code)
    #expect(failure.stage == .queue)
    #expect(!failure.isRetryable)
  }

  @Test func `the longest URL is taken and one byte more is not`() throws {
    let base = "http://a/"
    let rest = ImageURL.maximumByteCount - base.utf8.count
    _ = try ImageURL(parsing: base + String(repeating: "x", count: rest))
    #expect(throws: Failure.self) {
      try ImageURL(parsing: base + String(repeating: "x", count: rest + 1))
    }
  }
}

@Suite struct VariantTests {
  @Test func `each difference makes another canonical text`() throws {
    let variants = [
      Variant.standard, try Variant(width: 257, height: 256),
      try Variant(width: 256, height: 257), try Variant(width: 256, height: 256, mode: .fill),
      try Variant(width: 256, height: 256, mode: .fill, isCropped: true),
      try Variant(width: 256, height: 256, mode: .stretch),
      try Variant(width: 256, height: 256, format: .png),
      try Variant(width: 256, height: 256, quality: 81),
    ]
    #expect(Set(variants.map(\.canonicalText)).count == variants.count)
    #expect(Variant.standard.canonicalText == "256x256,fit,whole,auto,q80")
  }

  @Test func `numbers out of range are refused`() {
    #expect(throws: VariantError.sideOutOfRange) { try Variant(width: 0, height: 1) }
    #expect(throws: VariantError.sideOutOfRange) { try Variant(width: 1, height: 16_384) }
    #expect(throws: VariantError.qualityOutOfRange) {
      try Variant(width: 1, height: 1, quality: 101)
    }
    #expect(throws: VariantError.cropWithoutFill) {
      try Variant(width: 1, height: 1, mode: .fit, isCropped: true)
    }
  }
}

@Suite struct FailureTests {
  @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
  func `a status that passes is retryable`(status: Int) {
    #expect(Failure.Code.httpStatus.isRetryable(httpStatus: status))
  }

  @Test(arguments: [400, 401, 403, 404, 410, 451])
  func `a status that stays is not retryable`(status: Int) {
    #expect(!Failure.Code.httpStatus.isRetryable(httpStatus: status))
  }

  @Test func `a long detail is cut`() {
    let failure = Failure(
      stage: .fetch, code: .internal, detail: String(repeating: "x", count: 10_000))
    #expect(failure.detail.utf8.count == Failure.maximumDetailByteCount)
  }
}

@Suite struct WallTimeTests {
  @Test func `a moment is written in RFC 3339`() {
    #expect(WallTime(rawValue: 1_700_000_000_123).description == "2023-11-14T22:13:20.123Z")
  }

  @Test func `sums stop at the ends of the range`() {
    #expect(WallTime(rawValue: .max).advanced(byMilliseconds: 1) == WallTime(rawValue: .max))
    #expect(WallTime(rawValue: .min).advanced(byMilliseconds: -1) == WallTime(rawValue: .min))
  }
}

@Suite struct NetworkRangeTests {
  @Test func `a block holds its addresses and no others`() throws {
    let block = try #require(NetworkRange(bytes: [10, 1, 2, 3], prefixLength: 12))
    #expect(block.bytes == [10, 0, 0, 0])
    #expect(block.contains([10, 15, 255, 255]))
    #expect(!block.contains([10, 16, 0, 0]))
    #expect(!block.contains([UInt8](repeating: 10, count: 16)))
  }

  @Test func `what is no address makes no block`() {
    #expect(NetworkRange(bytes: [1, 2, 3], prefixLength: 8) == nil)
    #expect(NetworkRange(bytes: [1, 2, 3, 4], prefixLength: 33) == nil)
    #expect(NetworkRange(bytes: [1, 2, 3, 4], prefixLength: -1) == nil)
  }
}
