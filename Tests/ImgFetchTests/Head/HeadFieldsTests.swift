import Testing

@testable import ImgFetch

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
