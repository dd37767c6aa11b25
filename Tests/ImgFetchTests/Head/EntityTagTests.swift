import Testing

@testable import ImgFetch

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
