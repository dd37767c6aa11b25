import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// Pictures whose origins forbid their use.
@Suite(.timeLimit(.minutes(20))) struct OptOutTests {
  private let origin: TestOrigin
  private let respectful = FetchOptions(respectsOptOut: true)
  private static let tag = Header("X-Robots-Tag", "noai, noimageai")
  private static let body = noise(8 << 20)

  init() throws {
    origin = try TestOrigin()
  }

  @Test func `a request that respects the opt-out ends at the head`() throws {
    origin.serve("/a", .body(Self.body, headers: [Self.tag]))
    let transfer = try Fetcher().fetch(origin.baseURL + "/a", as: respectful)
    #expect(transfer.failure?.code == .optedOut)
    #expect(transfer.failure?.stage == .fetch)
    #expect(transfer.failure?.isRetryable == false)
    #expect(transfer.failure?.httpStatus == 200)
    #expect(transfer.bytesReceived == 0)
    #expect(origin.waitUntil { $0["/a"].aborted == 1 })
  }

  @Test func `a request that ignores the opt-out gets the picture, and its opt-out`() throws {
    origin.serve("/a", .body([7], headers: [Header("X-Robots-Tag", "nofollow"), Self.tag]))
    let body = try #require(Fetcher().fetch(origin.baseURL + "/a").body)
    #expect(body.bytes == [7])
    #expect(body.optOut?.code == .optedOut)
  }

  @Test func `only the last response counts, and only one with a picture`() throws {
    let location = Header("Location", "/b")
    origin.serve("/a", .response(Response(status: 302, headers: [location, Self.tag])))
    origin.serve("/b", .body([7]))
    let body = try #require(Fetcher().fetch(origin.baseURL + "/a", as: respectful).body)
    #expect(body.optOut == nil)
    origin.serve("/c", .status(404, headers: [Self.tag]))
    let failure = try Fetcher().fetch(origin.baseURL + "/c", as: respectful).failure
    #expect(failure?.code == .httpStatus)
  }
}
