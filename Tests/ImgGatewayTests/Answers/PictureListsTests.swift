import FoundationEssentials
import ImgClient
import ImgModel
import Testing

@testable import ImgGateway

@Suite struct PictureListsTests {
  private static let thumbHash: [UInt8] = [32, 8, 2, 7, 0] + Array(repeating: 0, count: 19)

  private let cluster = InMemoryCluster()

  private var lists: PictureLists { PictureLists(cluster) }

  private func page(_ query: String) async throws -> ListPage {
    try await lists.page(ListQuery(QueryParameters(query)), now: .now)
  }

  /// The page that a link of another one leads to.
  private func page(_ page: ListPage, _ relation: String) async throws -> ListPage? {
    guard let target = link(page, relation) else { return nil }
    return try await lists.page(ListQuery(RequestTarget(target).parameters()), now: .now)
  }

  private func link(_ page: ListPage, _ relation: String) -> String? {
    page.link?.split(separator: ", ").first { $0.hasSuffix("; rel=\"\(relation)\"") }.map {
      String($0.dropFirst().prefix { $0 != ">" })
    }
  }

  private func image(side: Int = 8, thumbHash: [UInt8]? = thumbHash) -> LoadedImage {
    LoadedImage(
      bytes: [UInt8](repeating: 7, count: side), format: .webp, width: side, height: side / 2,
      source: SourcePicture(
        format: .jpeg, width: 640, height: 480, byteCount: 5_000, thumbHash: thumbHash),
      origin: .network)
  }

  /// A job that has ended: every third picture is missing.
  private func job(of count: Int, size: Int = 256) async throws -> ImageJob.ID {
    let urls = (0..<count).map { "https://h\($0 % 5).example/Cat\($0).jpg" }
    for (index, url) in urls.enumerated() where index % 3 != 2 { cluster.serve(url, image()) }
    let client = ImageClient(transport: cluster)
    let id = try await client.jobs.submit(urls, as: ImageJobRequest(size: size))
    for try await _ in client.jobs.updates(of: id) {}
    return id
  }

  /// Thumbnails in the store, of several sizes for each URL.
  private func store(_ urls: [String], sizes: [Int] = [64]) async throws {
    let client = ImageClient(transport: cluster)
    for url in urls {
      for size in sizes {
        cluster.serve(url, image(side: size))
        _ = try await client.image(for: url, size: size)
      }
    }
  }

  private func indices(_ page: ListPage) -> [Int] {
    page.entries.compactMap { entry in
      if case .line(_, let index) = entry.id { index } else { nil }
    }
  }

  // MARK: - Jobs

  @Test func `a page of a job is found by its number`() async throws {
    let id = try await job(of: 70)
    let first = try await page("job=\(id)")
    #expect(indices(first) == Array(0..<30))
    #expect(first.link == "</v2/list?page=2&limit=30&job=\(id)>; rel=\"next\"")
    let second = try #require(try await page(first, "next"))
    #expect(indices(second) == Array(30..<60))
    let third = try #require(try await page(second, "next"))
    #expect(indices(third) == Array(60..<70))
    #expect(third.link == "</v2/list?page=2&limit=30&job=\(id)>; rel=\"prev\"")
    #expect(try await page(third, "prev") == second)
  }

  @Test(arguments: ["page=4", "page=999999999", "after=69", "after=9223372036854775806&q=cat"])
  func `a page after the end of a job is empty`(query: String) async throws {
    let id = try await job(of: 70)
    let page = try await page("job=\(id)&limit=30&\(query)")
    #expect(page.entries == [])
    #expect(link(page, "next") == nil)
  }

  @Test func `pages after a line follow each other`() async throws {
    let id = try await job(of: 70)
    let first = try await page("job=\(id)&after=9")
    #expect(indices(first) == Array(10..<40))
    #expect(first.link == "</v2/list?page=2&limit=30&job=\(id)&after=39>; rel=\"next\"")
    #expect(indices(try #require(try await page(first, "next"))) == Array(40..<70))
  }

  @Test func `a full page at the end of a job is the last one`() async throws {
    let id = try await job(of: 10)
    #expect(try await page("job=\(id)&limit=10").link == nil)
  }

  @Test(arguments: [
    ("outcome=failed", 23), ("outcome=done", 47), ("q=CAT1", 11), ("q=h3.example", 14),
    ("code=http_status", 23), ("code=timeout", 0), ("q=cat1&outcome=failed", 3), ("q=%20", 0),
  ])
  func `pages of a filter follow each other`(filter: String, count: Int) async throws {
    let id = try await job(of: 70)
    var seen: [Int] = []
    var next: ListPage? = try await page("job=\(id)&limit=5&\(filter)")
    while let page = next {
      #expect(page.entries.count <= 5)
      #expect(link(page, "prev") == nil)
      seen += indices(page)
      next = try await self.page(page, "next")
    }
    #expect(seen.count == count)
    #expect(seen == Array(Set(seen)).sorted())
    if count > 5 {
      // By its number, the same page is found with a longer search.
      let second = try await page("job=\(id)&limit=5&page=2&\(filter)")
      #expect(indices(second) == Array(seen[5..<min(10, count)]))
    }
  }

  @Test func `a search for what is rare ends early and goes on`() async throws {
    let id = try await job(of: 25_000)
    let filter = "q=cat24990.jpg"
    let first = try await page("job=\(id)&\(filter)")
    #expect(first.entries == [])
    let second = try #require(try await page(first, "next"))
    #expect(second.entries == [])
    let third = try #require(try await page(second, "next"))
    #expect(indices(third) == [24_990])
    #expect(link(third, "next") == nil)
  }

  @Test func `long URLs count as several lines of a search`() async throws {
    let client = ImageClient(transport: cluster)
    let end = String(repeating: "a", count: 7_000)
    let id = try await client.jobs.submit((0..<1_200).map { "https://h.example/\($0)\(end)" })
    for try await _ in client.jobs.updates(of: id) {}
    let first = try await page("job=\(id)&q=/1199")
    #expect(first.entries == [])
    #expect(link(first, "next")?.hasSuffix("after=499") == true)
  }

  @Test func `a line tells what came of it`() async throws {
    let id = try await job(of: 3)
    let entries = try await page("job=\(id)").entries
    #expect(entries.map(\.state) == [.done, .done, .failed])
    #expect(entries[0].id == .line(job: id, index: 0))
    #expect(entries[0].url == "https://h0.example/Cat0.jpg")
    #expect(entries[0].author == "h0.example")
    #expect(entries[0].thumbnail?.width == 8)
    #expect(entries[0].isFromCache == false)
    #expect(entries[0].thumbHash?.bytes == Self.thumbHash)
    #expect(entries[0].expiresAt != nil)
    #expect(entries[2].error?.code == .httpStatus)
    #expect(entries[2].thumbnail == nil)
  }

  @Test func `a line whose thumbnail is gone is listed without it`() async throws {
    let id = try await job(of: 1)
    cluster.removeStoredImages()
    let entry = try #require(try await page("job=\(id)").entries.first)
    #expect(entry.state == .done)
    #expect(entry.thumbnail?.height == 4)
    #expect(entry.thumbHash == nil)
    #expect(entry.expiresAt == nil)
  }

  @Test func `a line that is no URL has no author`() async throws {
    let client = ImageClient(transport: cluster)
    let id = try await client.jobs.submit(["no URL", "data:,a"])
    for try await _ in client.jobs.updates(of: id) {}
    let entries = try await page("job=\(id)").entries
    #expect(entries.map(\.author) == ["", ""])
    #expect(entries[0].error?.code == .invalidURL)
  }

  // MARK: - The store

  @Test func `pages of the store follow each other`() async throws {
    let urls = (0..<300).map { "https://h.example/\($0)" }
    try await store(urls)
    var seen: [String] = []
    var numbers: [String] = []
    var next: ListPage? = try await page("limit=100")
    while let page = next {
      seen += page.entries.map(\.url)
      numbers.append(link(page, "next") ?? "end")
      next = try await self.page(page, "next")
    }
    #expect(seen == urls)
    #expect(numbers.count == 3)
    #expect(numbers.first?.hasPrefix("/v2/list?page=2&limit=100&after=") == true)
    let second = try await page("page=2&limit=100")
    #expect(second.entries.map(\.url) == Array(urls[100..<200]))
    #expect(link(second, "prev") == "/v2/list?page=1&limit=100")
  }

  @Test func `sizes of a picture that come together are one entry, the largest`() async throws {
    try await store(["https://h.example/a", "https://h.example/b"], sizes: [16, 64, 32])
    let page = try await page("")
    #expect(page.entries.map(\.url) == ["https://h.example/a", "https://h.example/b"])
    #expect(page.entries.compactMap(\.thumbnail?.width) == [64, 64])
    #expect(page.link == nil)
  }

  @Test func `pages by number are those of the links, whatever sizes are stored`() async throws {
    let urls = (0..<23).map { "https://h.example/\($0)" }
    for (index, url) in urls.enumerated() {
      try await store([url], sizes: Array([16, 32, 64].prefix(1 + index % 3)))
    }
    var seen: [String] = []
    var next: ListPage? = try await page("limit=5")
    for number in 1...5 {
      let linked = try #require(next)
      #expect(try await page("limit=5&page=\(number)") == linked)
      seen += linked.entries.map(\.url)
      next = try await page(linked, "next")
    }
    #expect(next == nil)
    #expect(seen.sorted() == urls.sorted())
    #expect(try await page("limit=5&page=6").entries == [])
  }

  @Test func `a page of the store is found behind what one page may examine`() async throws {
    let urls = (0..<10_400).map { "https://h.example/\($0)" }
    try await store(urls)
    let page = try await page("limit=100&page=104")
    #expect(page.entries.map(\.url) == urls.suffix(100))
    #expect(link(page, "next") == nil)
  }

  @Test func `a text picks thumbnails of the store`() async throws {
    try await store((0..<30).map { "https://h.example/\($0 % 2 == 0 ? "Dog" : "cat")\($0)" })
    let page = try await page("q=dOg&limit=10")
    #expect(page.entries.count == 10)
    let second = try #require(try await self.page(page, "next"))
    #expect(second.entries.count == 5)
    #expect(second.entries.allSatisfy { $0.url.contains("Dog") })
  }

  @Test func `an expired thumbnail is not listed`() async throws {
    try await store(["https://h.example/a"])
    let later = WallTime.now.advanced(by: .seconds(8 * 86_400))
    #expect(try await lists.page(ListQuery(), now: later).entries == [])
    #expect(try await lists.page(ListQuery(), now: .now).entries.count == 1)
  }

  @Test func `an empty store is an empty list`() async throws {
    let page = try await page("")
    #expect(page.entries == [])
    #expect(page.link == nil)
    #expect(String(decoding: GatewayJSON.bytes(of: page.entries), as: UTF8.self) == "[]")
  }

  // MARK: - Facts

  @Test func `the facts of a line have those of its picture`() async throws {
    let id = try await job(of: 3)
    let info = try #require(try await lists.info(of: .line(job: id, index: 1), now: .now))
    #expect(info.source?.width == 640)
    #expect(info.origin == "https://h1.example")
    let failed = try #require(try await lists.info(of: .line(job: id, index: 2), now: .now))
    #expect(failed.source == nil)
    #expect(failed.entry.error?.httpStatus == 404)
    for index in [3, Int.max] {
      #expect(try await lists.info(of: .line(job: id, index: index), now: .now) == nil)
    }
  }

  @Test func `the facts of a record are found by its name`() async throws {
    try await store((0..<20).map { "https://h.example/\($0)" })
    for entry in try await page("").entries {
      #expect(try await lists.info(of: entry.id, now: .now)?.entry == entry)
    }
    for id in [ContentKey(0, 0, 0, 0), ContentKey(.max, .max, .max, .max)] {
      #expect(try await lists.info(of: .record(id), now: .now) == nil)
    }
  }

  // MARK: - JSON

  @Test func `a line in JSON has the keys of Picsum and its own`() async throws {
    let id = try await job(of: 3)
    let json = String(
      decoding: GatewayJSON.bytes(of: try await page("job=\(id)&outcome=failed").entries),
      as: UTF8.self)
    #expect(
      json == """
        [{"author":"h2.example","byte_count":null,"code":"http_status",\
        "download_url":"/id/\(id)-2","error":{"code":"http_status","http_status":404,\
        "message":"the origin answered 404","retryable":false,"url":"https://h2.example/Cat2.jpg"},\
        "expires_at":null,"from_cache":null,"height":0,"http_status":404,"id":"\(id)-2","image":null,\
        "is_loading":false,"message":"the origin answered 404","phase":"failure","retryable":false,\
        "state":"failed","stored_at":null,"thumb_hash":null,"thumbnail_height":0,"thumbnail_width":0,\
        "type":null,"url":"https://h2.example/Cat2.jpg","width":0}]
        """)
  }

  @Test func `facts in JSON have the source and the origin`() async throws {
    let id = try await job(of: 1)
    let info = try #require(try await lists.info(of: .line(job: id, index: 0), now: .now))
    let json = String(decoding: GatewayJSON.bytes(of: info), as: UTF8.self)
    #expect(
      json.contains(
        "\"source\":{\"byte_count\":5000,\"height\":480,\"type\":\"image/jpeg\",\"width\":640}"))
    #expect(json.contains("\"origin\":\"https://h0.example\""))
    let hash = Data(Self.thumbHash).base64EncodedString()
    #expect(json.contains("\"thumb_hash\":\"\(hash)\""))
    #expect(json.contains("\"type\":\"image/webp\""))
  }

  @Test func `a password in a URL is not listed`() async throws {
    let client = ImageClient(transport: cluster)
    let id = try await client.jobs.submit(["https://me:secret@h.example/a"])
    for try await _ in client.jobs.updates(of: id) {}
    let json = String(
      decoding: GatewayJSON.bytes(of: try await page("job=\(id)").entries), as: UTF8.self)
    #expect(!json.contains("secret"))
    #expect(json.contains("h.example/a"))
  }
}

/// Pages of the store that are found by their numbers.
struct RecordPagesTests {
  private let cluster = InMemoryCluster()

  /// Pages of two pictures of a store with 1,000.
  private func pages() async throws -> RecordPages {
    let client = ImageClient(transport: cluster)
    for number in 0..<1_000 {
      let url = "https://a.example/\(number)"
      cluster.serve(url, GatewayFixture.image(bytes: [1]))
      _ = try await client.image(for: url)
    }
    var query = ListQuery()
    query.limit = 2
    return RecordPages(cluster, query, now: .now)
  }

  @Test func `a page behind what may be examined is refused with the way there`() async throws {
    var pages = try await pages()
    let error = await #expect(throws: ImageError.self) {
      try await pages.skip(to: 400, within: SearchBudget(count: 500))
    }
    #expect(error?.code == .invalidRequest)
    #expect(error?.message.contains("after=") == true)
  }

  @Test func `a page within what may be examined is found; one after is empty`() async throws {
    var pages = try await pages()
    var budget = SearchBudget()
    try await pages.skip(to: 100, within: SearchBudget(count: 500))
    #expect(try await pages.next(within: &budget).map(\.url).first == "https://a.example/198")
    try await pages.skip(to: 1_000_000_000, within: SearchBudget(count: 5_000))
    #expect(pages.isComplete)
    #expect(try await pages.next(within: &budget).isEmpty)
  }
}

struct URLFilterTests {
  @Test func `a search does not tell the password in a URL`() {
    let url = "https://user:secret@a.example/b.jpg"
    #expect(URLFilter("user:").matches(url))
    #expect(!URLFilter("user:s").matches(url))
    #expect(!URLFilter("secret").matches(url))
  }
}
