import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel
import ImgSettings
import Testing

@testable import ImgGateway

/// Picsum's paths without an id, and what its lists say of a picture.
@Suite(.timeLimit(.minutes(20))) struct RandomPictureTests {
  private let fixture: GatewayFixture
  private let client: ImageClient

  init() throws {
    fixture = try GatewayFixture()
    client = ImageClient(transport: fixture.cluster, memoryCache: nil)
  }

  private func store(_ numbers: some Sequence<Int>, size: Int = 64) async throws {
    for number in numbers {
      let url = "https://a.example/\(number).jpg"
      fixture.serve(url)
      _ = try await client.image(for: url, size: size)
    }
  }

  /// The number of the picture that a seed has in a store.
  private func picture(for seed: String, of gateway: Gateway) async throws -> String {
    let request = HTTPRequest(.get, "/seed/\(seed)/30/20")
    guard case .later(_, let body) = gateway.answer(to: request) else {
      throw ImageError(code: .internal, message: "a choice is made later")
    }
    let location = try #require(await body().fields["Location"])
    let id = try #require(location.split(separator: "/").dropFirst().first)
    let record = try #require(
      try await fixture.cluster.records(after: nil, limit: 1_000).first { "\($0.id)" == id })
    return record.url
  }

  /// A gateway that has read nothing yet.
  private func gateway() throws -> Gateway {
    try Gateway(fixture.cluster, settings: GatewaySettings(), isLocal: true)
  }

  @Test func `a seed has one picture, in whatever order and sizes the store got them`() async throws
  {
    let seeds = (0..<40).map { "seed-\($0)" }
    func choices() async throws -> [String] {
      let gateway = try gateway()
      var urls: [String] = []
      for seed in seeds { urls.append(try await picture(for: seed, of: gateway)) }
      return urls
    }
    try await store(0..<20)
    let first = try await choices()
    #expect(Set(first).count > 5)
    for number in 0..<20 { try await client.cache.remove("https://a.example/\(number).jpg") }
    try await store((0..<20).reversed(), size: 32)
    try await store(0..<20, size: 64)
    #expect(try await choices() == first)
    // A further picture takes some seeds for itself alone.
    try await store([20])
    for (before, after) in zip(first, try await choices()) {
      #expect(after == before || after == "https://a.example/20.jpg")
    }
  }

  @Test(arguments: [
    ("/seed/picsum/200/300", "200/300"), ("/seed/picsum/200/", "200"), ("/200/300", "200/300"),
    ("/200", "200"), ("/200/300.webp?grayscale&blur=2", "200/300.webp?grayscale&blur=2"),
    ("/seed/a%20b/info", "info"), ("/30/20?random=7", "30/20?random=7"),
  ])
  func `a path without an id leads to a picture of the store`(
    target: String, rest: String
  ) async throws {
    try await store([1])
    let record = try #require(try await fixture.cluster.records(after: nil, limit: 1).first)
    let response = await fixture.response(.get, target)
    #expect(response.status.rawValue == 302)
    #expect(response.fields["Location"] == "/id/\(record.id)/\(rest)")
    #expect(response.fields["Cache-Control"] == "no-store")
    #expect(await fixture.response(.get, "/id/\(record.id)/\(rest)").status == .ok)
  }

  @Test func `without a picture, without a gallery or with a wrong size there is none`()
    async throws
  {
    let empty = await fixture.response(.get, "/seed/a/200/300")
    #expect(empty.status == .notFound)
    #expect(empty.fields["X-Phase"] == "failure")
    try await store([1])
    #expect(await fixture.response(.get, "/seed/a/20000/1").status == .unprocessableContent)
    #expect(await fixture.response(.get, "/200/300.gif").status == .unprocessableContent)
    for target in ["/seed/a", "/seed//200", "/seed/a/200/300/400", "/g/200/300"] {
      #expect(await fixture.response(.get, target).status == .notFound, "\(target)")
    }
    let closed = try GatewayFixture { $0.hasGallery = false }
    #expect(await closed.response(.get, "/200/300").status == .notFound)
  }

  @Test(
    arguments: [
      (["Host": "localhost:8080"], "http://localhost:8080/id/"),
      (["Host": "127.0.0.1", "X-Forwarded-Proto": "https"], "https://127.0.0.1/id/"),
      (["Host": "[::1]:80", "X-Forwarded-Proto": "ftp"], "http://[::1]:80/id/"),
      ([:], "/id/"),
    ] as [(HTTPFields, String)])
  func `a list has the sides of the sources, and links for everywhere`(
    fields: HTTPFields, link: String
  ) async throws {
    struct Entry: Decodable {
      enum CodingKeys: String, CodingKey {
        case id, width, height, image
        case thumbnailWidth = "thumbnail_width"
        case thumbnailHeight = "thumbnail_height"
        case downloadURL = "download_url"
      }

      let id: String
      let width: Int
      let height: Int
      let thumbnailWidth: Int
      let thumbnailHeight: Int
      let downloadURL: String
      let image: String?
    }
    try await store([1])
    let list = await fixture.response(.get, "/v2/list", fields)
    let entry = try #require(try JSONDecoder().decode([Entry].self, from: Data(list.bytes)).first)
    #expect((entry.width, entry.height) == (40, 20))
    #expect((entry.thumbnailWidth, entry.thumbnailHeight) == (4, 2))
    #expect(entry.downloadURL == "\(link)\(entry.id)")
    #expect(entry.image == entry.downloadURL)
    let info = await fixture.response(.get, "/id/\(entry.id)/info", fields)
    #expect(info.text.contains("\"download_url\":\"\(entry.downloadURL)\""))
  }
}
