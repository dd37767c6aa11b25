import ImgModel
import Testing

@Suite struct DataURLTests {
  private func contents(_ line: String) throws -> String? {
    try DataURL.contents(of: ImageURL(parsing: line)).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: [
    ("data:,hello", "hello"), ("data:text/plain,a%20b%2C%63", "a b,c"), ("data:,", ""),
    ("data:image/svg+xml,<svg xmlns='a b'/>", "<svg xmlns='a b'/>"), ("data:,100%", "100%"),
    ("data:,%zz%4", "%zz%4"), ("data:,a#b", "a"), ("data:,a\tb", "ab"), ("data:,ü", "ü"),
    ("data:;base64,aGVsbG8=", "hello"), ("data:;base64,aGVsbG8", "hello"),
    ("DATA:image/png;BASE64,aGVsbG8%3D", "hello"), ("data:;base64,aGVs bG8=", "hello"),
    ("data:;base64,aGVs%0AbG8=%20", "hello"), ("data:a ;base64,aGVs\nbG8=", "hello"),
    ("data:;base64,/+8A", "\u{FFFD}\u{FFFD}\0"), ("data:;base64,", ""),
    ("data:base64,aGVs", "aGVs"), ("data:;base64;x=y,aGVs", "aGVs"),
    ("data:;base64,aGVsbA==", "hell"), ("data:;base64,aGVsbA", "hell"),
    ("data:;base64,aGVsbB==", "hell"), ("data:;base64,aGVsbG9=", "hello"),
  ])
  func `a data URL contains its bytes`(line: String, bytes: String) throws {
    #expect(try contents(line) == bytes)
  }

  @Test(arguments: [
    "data:;base64,a", "data:;base64,aGVsb", "data:;base64,aG-_", "data:;base64,a=b=",
    "data:;base64,aGVsbG8==", "data:;base64,====", "data:;base64,=", "data:;base64,a===",
  ])
  func `invalid base64 is refused`(line: String) throws {
    let failure = try #require(throws: Failure.self) { try contents(line) }
    #expect(failure.code == .invalidURL)
    #expect(failure.stage == .fetch)
    #expect(!failure.isRetryable)
  }

  @Test(arguments: [
    ("DATA:image/png;base64,aG Vs#x", "data:image/png;base64,aGVs"),
    (
      "data:image/svg+xml; charset=utf-8,<svg a='b'>",
      "data:image/svg+xml;charset=utf-8,<svg%20a='b'>"
    ),
  ])
  func `a data URL is normalised`(line: String, text: String) throws {
    let url = try ImageURL(parsing: line)
    #expect(url.text == text)
    #expect(try ImageURL(parsing: url.text) == url)
  }

  @Test func `a data URL is local and its host is not a host name`() throws {
    let url = try ImageURL(parsing: "data:,a")
    #expect(url.isLocal)
    #expect(url.host.contains("/"))
    #expect(try !ImageURL(parsing: "http://data/").isLocal)
    #expect(try DataURL.contents(of: ImageURL(parsing: "http://data/,a")) == nil)
  }

  @Test func `the URL of an uploaded picture is not parsable`() {
    let url = ImageURL(uploaded: 17)
    #expect(url.isLocal)
    #expect(throws: Failure.self) { try ImageURL(parsing: url.text) }
  }

  @Test func `the length limit counts spaces as their escapes`() throws {
    let blanks = { (count: Int) in "data:image/svg+xml," + String(repeating: " ", count: count) }
    #expect(try ImageURL(parsing: blanks(1_000) + "x").text.utf8.count == 3_020)
    let failure = #expect(throws: Failure.self) { try ImageURL(parsing: blanks(3_000) + "x") }
    #expect(failure?.code == .invalidURL)
    #expect(failure?.stage == .queue)
  }
}
