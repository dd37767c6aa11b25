import ImgModel
import ImgWire
import Testing

@testable import ImgClient

/// What a load asks the coordinator for.
struct LoadCallTests {
  private func request(
    isIncremental: Bool, _ onUpdate: (@Sendable (ImageUpdate) -> Void)?
  ) throws -> GetRequest? {
    var request: ImageRequest = "https://example.org/a.jpg"
    request.isIncremental = isIncremental
    let call = LoadCall(try ClusterRequest(request), maximumRetryAfter: nil, onUpdate).call
    guard case .get(let get) = call.request(RequestID(rawValue: 1)) else { return nil }
    return get
  }

  @Test func `a load whose caller listens has progress, or previews if it is incremental`() throws {
    let plain = try #require(try request(isIncremental: false) { _ in })
    #expect(plain.wantsProgress)
    #expect(!plain.wantsPreviews)
    let incremental = try #require(try request(isIncremental: true) { _ in })
    #expect(!incremental.wantsProgress)
    #expect(incremental.wantsPreviews)
  }

  @Test(arguments: [false, true])
  func `a load whose caller does not listen asks for no updates`(isIncremental: Bool) throws {
    let get = try #require(try request(isIncremental: isIncremental, nil))
    #expect(!get.wantsProgress)
    #expect(!get.wantsPreviews)
  }
}
