import Testing

@testable import ImgFetch

/// RFC 9110 section 14.4.
@Suite struct ContentRangeTests {
  @Test(
    arguments: [
      ("bytes 0-0/1", 0...0, 1), ("bytes 42-1233/1234", 42...1233, 1234),
      ("bytes 42-1233/*", 42...1233, nil), ("BYTES 0-9/10", 0...9, 10),
      ("bytes */1234", nil, 1234), ("bytes */0", nil, 0),
    ] as [(String, ClosedRange<Int>?, Int?)])
  func `a part and a length are read`(text: String, range: ClosedRange<Int>?, length: Int?) {
    #expect(
      ContentRange(parsing: text) == ContentRange(range: range, completeLength: length))
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
