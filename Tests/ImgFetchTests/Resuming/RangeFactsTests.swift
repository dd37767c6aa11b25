import Testing

@testable import ImgFetch

@Suite struct RangeFactsTests {
  private static let date = "Date: Sun, 06 Nov 1994 08:50:37 GMT"

  private func facts(_ lines: [String]) -> RangeFacts {
    var facts = RangeFacts()
    for line in lines { facts.take(line: Array("\(line)\r\n".utf8)) }
    return facts
  }

  @Test(
    arguments: [
      (["ETag: \"v1\""], "\"v1\""), (["etag:\"\""], "\"\""), (["ETag: W/\"v1\""], nil),
      (["ETag: v1"], nil), (["ETag: \""], nil), (["ETag: \"a\"b\""], nil),
      (["ETag: \"\u{E9}\""], nil),
      // A date is of no use beside any tag.
      (["ETag: W/\"v1\"", "Last-Modified: Sun, 06 Nov 1994 08:40:37 GMT", date], nil),
      (["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", date], "Sun, 06 Nov 1994 08:49:37 GMT"),
      (["Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT", date], nil),
      (["Last-Modified: Sun, 06 Nov 1994 08:51:37 GMT", date], nil),
      (["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], nil),
      (["Last-Modified: yesterday", date], nil), ([date], nil),
      (["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\rX: y", date], nil),
      // The obsolete forms of dates.
      (
        ["Last-Modified: Sunday, 06-Nov-94 08:49:37 GMT", date],
        "Sunday, 06-Nov-94 08:49:37 GMT"
      ),
      (["Last-Modified: Sun Nov  6 08:49:37 1994", date], "Sun Nov  6 08:49:37 1994"),
    ] as [([String], String?)])
  func `a body is recognised by a strong tag, else by a date that is old enough`(
    lines: [String], validator: String?
  ) {
    #expect(facts(lines).strongValidator == validator)
  }

  @Test(arguments: [
    ("Accept-Ranges: bytes", true), ("accept-ranges: BYTES", true),
    ("Accept-Ranges: items, bytes", true), ("Accept-Ranges: none", false),
    ("Accept-Ranges:", false), ("X-Accept-Ranges: bytes", false),
  ])
  func `parts are to be had where the origin says so`(line: String, isAccepted: Bool) {
    #expect(facts([line]).acceptsRanges == isAccepted)
  }

  @Test(arguments: [
    (["Cache-Control: no-store"], true), (["cache-control: private , NO-STORE"], true),
    (["Cache-Control: no-store", "Cache-Control: max-age=9"], true),
    (["Cache-Control: no-cache"], false), (["Cache-Control: x=no-store"], false), ([], false),
  ])
  func `nothing is stored where the origin forbids it`(lines: [String], isForbidden: Bool) {
    #expect(facts(lines).forbidsStoring == isForbidden)
  }

  @Test(arguments: [
    ("\"v1\"", ["ETag: \"v1\""], true), ("\"v1\"", ["ETag: \"v2\""], false),
    ("\"v1\"", ["ETag: W/\"v1\""], false), ("\"v1\"", [], false),
    ("Sun, 06 Nov 1994 08:49:37 GMT", ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], true),
    ("Sun, 06 Nov 1994 08:49:37 GMT", [], true),
    ("Sun, 06 Nov 1994 08:49:37 GMT", ["Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT"], false),
  ])
  func `a part is of the same body when its validator is the same`(
    validator: String, lines: [String], isSame: Bool
  ) {
    #expect(facts(lines).isOfBody(validatedBy: validator) == isSame)
  }
}
