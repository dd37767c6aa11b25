import Testing

@testable import ImgFetch

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
  func `RFC 9110 5.6.4: a comma in a quoted string does not split`(value: String, members: [String])
  {
    #expect(FieldList.members(of: value) == members)
  }

  @Test func `quotation marks without partners take no longer than other bytes`() {
    let value = String(repeating: "\"\\", count: 32 << 10)
    #expect(FieldList.members(of: value) == [value])
  }
}
