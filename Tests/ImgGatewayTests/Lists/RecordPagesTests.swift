import ImgClient
import ImgModel
import Testing

@testable import ImgGateway

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

  @Test func `a page behind what may be examined is refused, and the refusal tells the way`()
    async throws
  {
    var pages = try await pages()
    let error = await #expect(throws: ImageError.self) {
      try await pages.skip(to: 400, within: SearchBudget(count: 500))
    }
    #expect(error?.code == .invalidRequest)
    #expect(error?.message.contains("after=") == true)
  }

  @Test func `a page within what may be examined is found, and one after the end is empty`()
    async throws
  {
    var pages = try await pages()
    var budget = SearchBudget()
    try await pages.skip(to: 100, within: SearchBudget(count: 500))
    #expect(try await pages.next(within: &budget).map(\.url).first == "https://a.example/198")
    try await pages.skip(to: 1_000_000_000, within: SearchBudget(count: 5_000))
    #expect(pages.isComplete)
    #expect(try await pages.next(within: &budget).isEmpty)
  }
}
