import ImgModel
import Testing

/// URLs of files on this machine (RFC 8089).
@Suite(.timeLimit(.minutes(20))) struct FileURLTests {
  @Test(arguments: [
    ("file:///srv/a.jpg", "/srv/a.jpg", "file:///srv/a.jpg"),
    ("file:/srv/a.jpg", "/srv/a.jpg", "file:///srv/a.jpg"),
    ("FILE://LocalHost/srv/a.jpg", "/srv/a.jpg", "file:///srv/a.jpg"),
    ("file:///srv/a.jpg#part", "/srv/a.jpg", "file:///srv/a.jpg"),
    ("file:///%73rv/%C3%BC%20%3F%23%25.jpg", "/srv/ü ?#%.jpg", "file:///srv/ü%20%3F%23%25.jpg"),
    ("file:///srv/100%.jpg", "/srv/100%.jpg", "file:///srv/100%25.jpg"),
    ("file:///srv/my a.jpg", "/srv/my a.jpg", "file:///srv/my%20a.jpg"),
    ("file:///srv/a..b/...", "/srv/a..b/...", "file:///srv/a..b/..."),
  ])
  func `a file URL has a path and is normalised`(line: String, path: String, text: String) throws {
    let url = try ImageURL(parsing: line)
    #expect(url.text == text)
    #expect(url.isFile && url.isLocal)
    #expect(try FileURL.path(of: url.text) == path)
    #expect(try ImageURL(parsing: text) == url)
  }

  @Test(arguments: [
    "file:a.jpg", "file:./a.jpg", "file:", "file://", "file://srv", "file://srv/a.jpg",
    "file:///srv/../a.jpg", "file:///srv/%2E%2e/a.jpg", "file:///srv/./a.jpg", "file:///..",
    "file:///a%00.jpg", "file:///a.jpg?size=1", "file:///%FF.jpg", "file:///a\tb.jpg",
    "file://127.0.0.1/a.jpg", "file:////" + String(repeating: "%", count: 8_000),
  ])
  func `a file URL without a valid local path is refused`(line: String) throws {
    let failure = try #require(throws: Failure.self) { try ImageURL(parsing: line) }
    #expect(failure.code == .invalidURL)
    #expect(failure.stage == .queue)
  }

  @Test func `URLs of other schemes are not file URLs`() throws {
    #expect(try FileURL.path(of: "http://example.com/file:///a") == nil)
    #expect(try !ImageURL(parsing: "http://file/a").isFile)
    #expect(try !ImageURL(parsing: "data:,a").isFile)
  }
}
