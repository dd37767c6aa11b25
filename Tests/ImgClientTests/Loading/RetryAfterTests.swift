import FoundationEssentials
import ImgClient
import TestOrigin
import Testing

/// Loads from origins that ask for a pause.
@Suite(.timeLimit(.minutes(20)))
struct RetryAfterTests {
  private func error(_ request: ImageRequest, _ backend: RealBackend) async throws -> ImageError {
    let client = try backend.makeClient()
    return try #require(
      await #expect(throws: ImageError.self) { try await client.image(for: request) })
  }

  @Test func `a load does not wait for a pause that is longer than its timeout`() async throws {
    let backend = try RealBackend(["ATTEMPTS": "3"])
    backend.origin.serve("/a", .status(429, retryAfter: "200"))
    var request = ImageRequest(url: backend.url("a"))
    request.timeout = .seconds(150)
    let error = try await error(request, backend)
    #expect(error.code == .httpStatus)
    #expect(error.httpStatus == 429)
    #expect(error.isRetryable)
    #expect(try #require(error.retryAt) > Date.now)
  }

  @Test func `a load waits no longer for a pause than it says`() async throws {
    let backend = try RealBackend(["ATTEMPTS": "3"])
    backend.origin.serve("/a", .status(503, retryAfter: "100"))
    var request = ImageRequest(url: backend.url("a"))
    request.timeout = .seconds(300)
    request.maximumRetryAfter = .seconds(1)
    #expect(try await error(request, backend).retryAt != nil)
    #expect(backend.fetchCount(of: "a") == 1)
  }

  @Test(arguments: [Duration.seconds(-1), .seconds(86_401)])
  func `a maximum that makes no sense is an error`(maximum: Duration) async throws {
    var request = ImageRequest(url: "https://example.org/a")
    request.maximumRetryAfter = maximum
    #expect(try await error(request, RealBackend()).code == .invalidRequest)
  }
}
