import ImgClient
import ImgHTTP
import Testing

@testable import ImgGateway

/// How long the pictures of lists may be kept.
struct ListedPictureTests {
  private let fixture: GatewayFixture
  private let url = "https://a.example/b"

  init() throws {
    fixture = try GatewayFixture()
    fixture.serve(url)
  }

  @Test(arguments: ["", "/40/30", "/64.jpg?grayscale"])
  func `a client asks for the picture of a line each time, and gets 304`(path: String)
    async throws
  {
    let client = ImageClient(transport: fixture.cluster)
    let job = try await client.jobs.submit([url])
    for try await _ in client.jobs.updates(of: job) {}
    let target = "/id/\(job)-0\(path)"
    let first = await fixture.response(.get, target)
    #expect(first.status == .ok)
    let tag = try #require(first.fields["ETag"])
    let second = await fixture.response(.get, target, ["If-None-Match": tag])
    #expect(second.status == .notModified)
    for response in [first, second] {
      #expect(response.fields["Cache-Control"] == "private, no-cache")
      #expect(response.fields["Expires"] == nil)
      #expect(response.fields["Age"] == nil)
    }
  }

  @Test(arguments: ["", "/40/30"])
  func `the picture of a record is kept until it expires`(path: String) async throws {
    _ = try await ImageClient(transport: fixture.cluster).image(for: url)
    let record = try #require(try await fixture.cluster.records(after: nil, limit: 1).first)
    let response = await fixture.response(.get, "/id/\(record.id)\(path)")
    #expect(response.status == .ok)
    #expect(response.fields["Cache-Control"] == "public, max-age=604800")
  }
}
