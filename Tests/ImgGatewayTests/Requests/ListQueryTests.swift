import ImgGateway
import ImgHTTP
import Testing

@Suite struct ListQueryTests {
  private static let record = String(repeating: "0123456789abcdef", count: 4)

  private func query(_ text: String) throws -> ListQuery { try ListQuery(QueryParameters(text)) }

  @Test(arguments: [
    ("", 1, 30), ("page=2&limit=100", 2, 100), ("page=0", 1, 30), ("page=-3&limit=-1", 1, 30),
    ("page=x&limit=y", 1, 30), ("limit=0", 1, 30), ("limit=1000", 1, 100), ("limit=1", 1, 1),
    ("page=99999999999999999999&limit=99999999999999999999", 1, 30),
    ("page=9223372036854775807", 1_000_000_000, 30), ("page=2&page=3", 2, 30),
    ("page=&limit=", 1, 30),
  ])
  func `a page that is none is the default, as of Picsum`(
    text: String, page: Int, limit: Int
  ) throws {
    let query = try query(text)
    #expect(query.page == page)
    #expect(query.limit == limit)
  }

  @Test func `a list is picked by job, text, outcome and code`() throws {
    let query = try query("job=7&q=cat%20&outcome=failed&code=http_status&after=41&unknown=1")
    #expect(query.job == 7)
    #expect(query.text == "cat ")
    #expect(query.outcome == .failed)
    #expect(query.code == "http_status")
    #expect(query.after == .line(41))
    #expect(try self.query("after=\(Self.record)").after == .record(Self.record))
    #expect(try self.query("job=&q=&outcome=&code=&after=") == ListQuery())
  }

  @Test(arguments: [
    "job=0", "job=x", "job=-1", "job=99999999999999999999", "job=1&outcome=waiting", "outcome=done",
    "code=timeout", "after=5", "job=1&after=\(record)", "job=1&after=-1",
    "job=1&after=9223372036854775807", "after=x", "q=\(String(repeating: "a", count: 129))",
    "job=1&code=\(String(repeating: "a", count: 129))",
  ])
  func `what picks entries is refused if it is wrong`(text: String) throws {
    let rejection = try #require(throws: RequestRejection.self) { try query(text) }
    #expect(rejection.status == .unprocessableContent)
  }
}
