import ImgClient
import ImgGateway
import ImgHTTP
import Testing

@Suite struct PicsumPathTests {
  private static let record = String(repeating: "0123456789abcdef", count: 4)
  private static let key = ContentKey(
    0x0123_4567_89AB_CDEF, 0x0123_4567_89AB_CDEF, 0x0123_4567_89AB_CDEF, 0x0123_4567_89AB_CDEF)

  private func path(_ target: String) throws -> PicsumPath { try PicsumPath(RequestTarget(target)) }

  private func rejection(_ target: String) throws -> RequestRejection {
    try #require(throws: RequestRejection.self) { try path(target) }
  }

  // MARK: - Names

  @Test(arguments: [
    ("1-0", PictureID.line(job: 1, index: 0)), ("7-99", .line(job: 7, index: 99)),
    ("18446744073709551615-9223372036854775807", .line(job: .max, index: .max)),
    (record, .record(key)),
  ])
  func `a picture has one name`(text: String, id: PictureID) {
    #expect(PictureID(text) == id)
    #expect(id.description == text)
  }

  @Test(arguments: [
    "", "-", "1", "1-", "-1", "0-0", "01-0", "1-00", "1-01", "+1-0", "1-+0", "1--1", "1-0-0", "a-0",
    "18446744073709551616-0", "1-9223372036854775808", String(record.prefix(15)), record + "0",
    record.uppercased(), "１-0",
  ])
  func `another text is no name`(text: String) {
    #expect(PictureID(text) == nil)
  }

  // MARK: - Paths

  @Test(
    arguments: [
      ("/id/1-0", PictureQuery(.line(job: 1, index: 0))),
      ("/id/1-0/", PictureQuery(.line(job: 1, index: 0))),
      ("/id/\(record)", PictureQuery(.record(key))),
      ("/id/1-0/300", PictureQuery(.line(job: 1, index: 0), size: .init(width: 300, height: 300))),
      (
        "/id/1-0/300/200.jpg",
        PictureQuery(.line(job: 1, index: 0), size: .init(width: 300, height: 200), format: .jpeg)
      ),
      (
        "/id/1-0/300.WEBP?random=5",
        PictureQuery(.line(job: 1, index: 0), size: .init(width: 300, height: 300), format: .webp)
      ),
      (
        "/id/1-0/300/200/?grayscale&blur=2",
        PictureQuery(
          .line(job: 1, index: 0), size: .init(width: 300, height: 200), isGrayscale: true, blur: 2)
      ),
      ("/id/1-0?blur", PictureQuery(.line(job: 1, index: 0), blur: 5)),
      ("/id/1-0?blur=", PictureQuery(.line(job: 1, index: 0), blur: 5)),
      ("/id/1-0?blur=much", PictureQuery(.line(job: 1, index: 0), blur: 5)),
      ("/id/1-0?blur=10&blur=1", PictureQuery(.line(job: 1, index: 0), blur: 10)),
      ("/id/1-0?grayscale=0", PictureQuery(.line(job: 1, index: 0), isGrayscale: true)),
    ])
  func `a path names a picture and a size`(target: String, query: PictureQuery) throws {
    #expect(try path(target) == .picture(query))
  }

  @Test func `a path names the facts of a picture`() throws {
    let id = PictureID.line(job: 3, index: 4)
    #expect(try path("/id/3-4/info") == .info(id, hasMetadata: false))
    #expect(try path("/id/3-4/info/?exif") == .info(id, hasMetadata: true))
  }

  @Test(arguments: [
    "/", "/id", "/id/", "/id/x", "/id/1-0/1/2/3", "/id/1-0/300/info/x", "/ID/1-0", "/id//1-0",
    "/id/1-0//", "/id/1%2D0",
  ])
  func `another path is not found`(target: String) throws {
    #expect(try rejection(target).status == .notFound)
  }

  @Test(arguments: [
    "/id/1-0/0", "/id/1-0/16384", "/id/1-0/-5", "/id/1-0/300/x", "/id/1-0/300.png", "/id/1-0/300.",
    "/id/1-0/300.jpg/200", "/id/1-0/99999999999999999999", "/id/1-0/300/info", "/id/1-0?blur=0",
    "/id/1-0?blur=11", "/id/1-0?blur=99999999999999999999", "/id/1-0?blur=-1", "/id/1-0?sepia",
    "/id/1-0/info?grayscale",
  ])
  func `a wrong option is refused`(target: String) throws {
    #expect(try rejection(target).status == .unprocessableContent)
  }

  @Test func `a query changes the variant of the list`() throws {
    var listed = ImageVariant(size: 256, format: .webp)
    listed.quality = 50
    let id = PictureID.line(job: 1, index: 0)
    #expect(PictureQuery(id).isAsListed)
    #expect(PictureQuery(id).variant(of: listed) == listed)
    let query = PictureQuery(
      id, size: .init(width: 30, height: 20), isGrayscale: true, blur: 3, format: .jpeg)
    #expect(!query.isAsListed)
    var expected = ImageVariant(width: 30, height: 20, mode: .fill, crop: .centre, format: .jpeg)
    expected.enlarges = true
    expected.quality = 50
    expected.effects.isGrayscale = true
    expected.effects.blur = 3
    #expect(query.variant(of: listed) == expected)
    listed.frames = .all
    #expect(query.variant(of: listed) == expected)
    #expect(PictureQuery(id, format: .webp).variant(of: listed) == listed)
  }
}

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
    #expect(
      try self.query("after=\(Self.record)").after == ContentKey(Self.record).map { .record($0) })
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
