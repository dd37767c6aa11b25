import TestCluster
import TestFiles
import TestHTTP
import TestOrigin
import TestPictures
import Testing

/// Thumbnails that another process removes or replaces while the gateway has them in memory.
@Suite(.timeLimit(.minutes(2)))
struct StoreChangeTests {
  private let fixture: GatewayFixture
  private let url: String
  private let target: String

  init() throws {
    fixture = try GatewayFixture()
    url = "\(fixture.origin.baseURL)/a"
    // The thumbnail that imgctl get makes in the format for clients that name none.
    target = fixture.target("/a", "w=256&h=256")
    fixture.origin.serve("/a", .body(fixture.picture))
  }

  private func hit() async throws -> RawResponse {
    try await fixture.gateway.response(target)
  }

  /// Asks until the answer is another one. Between two looks at the store is a second.
  private func change(of first: RawResponse, at other: String? = nil) async throws -> RawResponse {
    let deadline = ContinuousClock.now + RawClient.patience
    while true {
      let response = try await fixture.gateway.response(other ?? target)
      if response["ETag"] != first["ETag"] { return response }
      guard ContinuousClock.now < deadline else { throw RawClient.Failure.deadline }
    }
  }

  @Test func `a thumbnail that was replaced in the store is sent`() async throws {
    let first = try await hit()
    #expect(try await hit()["X-Imgctl-From"] == "store")
    fixture.origin.serve("/a", .body(try PictureMaker.start().card(index: 2)))
    let path = fixture.cluster.directory.file("new")
    let result = try fixture.cluster.imgctl(
      "get", url, "--enlarge", "--format", "compatible", "--cache-policy", "reload", "-o", path)
    #expect(result.exitCode == 0, "\(result.messages)")
    let second = try await change(of: first)
    #expect(second.status == 200)
    #expect(second["X-Imgctl-From"] == "store")
    #expect(fixture.origin.counters("/a").requests == 2)
  }

  @Test func `a thumbnail that was removed from the store is fetched again, in every version`()
    async throws
  {
    let first = try await hit()
    #expect(try await hit()["X-Imgctl-From"] == "store")
    let version = "/_/cb:1/plain/\(url)@jpg"
    let firstVersion = try await fixture.gateway.response(version)
    #expect(firstVersion.status == 200)
    fixture.origin.serve("/a", .status(404))
    let result = try fixture.cluster.imgctl("cache", "rm", url)
    #expect(result.exitCode == 0, "\(result.messages)")
    let second = try await change(of: first)
    #expect(second.status == 404)
    #expect(try await change(of: firstVersion, at: version).status == 404)
    #expect(fixture.origin.counters("/a").requests == 4)
  }
}
