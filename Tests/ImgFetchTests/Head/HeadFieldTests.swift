import Testing

@testable import ImgFetch

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
