import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import TestOrigin
import TestPictures
import Testing

@testable import ImgWorker

/// Which records answer under each cache policy, and when the origin is asked.
@Suite(.timeLimit(.minutes(20))) struct CachePolicyTests {
  private let origin = TestOrigin()
  private let pictures: [[UInt8]]
  private let worker: RunningWorker
  private let url: ImageURL

  init() throws {
    let maker = try PictureMaker.start()
    pictures = try [maker.card(index: 1), maker.card(index: 2, width: 200, height: 100)]
    worker = try RunningWorker()
    url = try ImageURL(parsing: origin.baseURL + "/a")
  }

  private func serve(_ cacheControl: String, entityTag: String = "\"1\"", picture: Int = 0) {
    let headers = [Header("Cache-Control", cacheControl)]
    origin.serve(
      "/a", .resource(Resource(pictures[picture], entityTag: entityTag, headers: headers)))
  }

  private func batch(
    _ lease: LeaseID, _ policy: CachePolicy = .byProtocol, width: Int = 64,
    keep: Keep = .thumbnail, retention: Duration = .seconds(60), takesStale: Bool = false
  ) throws -> Batch {
    try Batch(
      lease, url.text, width: width, keep: keep, fetch: FetchOptions(cachePolicy: policy),
      retention: retention, takesStale: takesStale)
  }

  private func lookUp(
    _ policy: CachePolicy, width: Int = 64, keep: Keep = .thumbnail
  ) throws -> String {
    try worker.send(.lookup(batch(99, policy, width: width, keep: keep)))
    let found = try worker.lookupResults()
    return found.hits.isEmpty ? found.originals.isEmpty ? "miss" : "original" : "hit"
  }

  private func fetch(_ batch: Batch) throws -> RunningWorker.Said {
    try worker.send(.fetch(batch))
    return try worker.messages(untilEnded: 1)
  }

  private var condition: String? { origin.counters("/a").headersSeen["if-none-match"] }

  private func record(width: Int = 64) throws -> CacheRecord? {
    let key = ContentKey(
      PictureName(url), variant: try Variant(ImageVariant(width: width, height: width)))
    return try worker.store.current().facts(of: [key], at: worker.now)[0]
  }

  // MARK: - Look-ups

  @Test(arguments: [
    ("max-age=3600", CachePolicy.byProtocol, "hit"), ("max-age=0", .byProtocol, "miss"),
    ("no-cache", .byProtocol, "miss"), ("private", .byProtocol, "miss"),
    ("max-age=3600", .reload, "miss"), ("max-age=0", .cacheElseLoad, "hit"),
    ("no-store", .cacheElseLoad, "hit"), ("no-store", .byProtocol, "miss"),
    ("max-age=0", .cacheOnly, "hit"),
  ])
  func `a look-up finds what its policy accepts`(
    cacheControl: String, policy: CachePolicy, expected: String
  ) throws {
    serve(cacheControl)
    _ = try fetch(batch(1, .cacheElseLoad, keep: .all))
    #expect(try lookUp(policy) == expected)
    #expect(try lookUp(policy, keep: .all) == expected)
    #expect(try lookUp(policy, width: 32) == (expected == "hit" ? "original" : "miss"))
  }

  @Test func `a fresh original counts more than a stale thumbnail`() throws {
    serve("max-age=0")
    _ = try fetch(batch(1))
    serve("max-age=3600", entityTag: "\"2\"")
    _ = try fetch(batch(2, .reload, width: 32, keep: .all))
    #expect(try lookUp(.byProtocol) == "original")
  }

  @Test(arguments: [CachePolicy.byProtocol, .reload])
  func `an original that the policy does not accept is not decoded`(policy: CachePolicy) throws {
    serve("max-age=0")
    _ = try fetch(batch(1, keep: .all))
    try worker.send(.decode(batch(2, policy, width: 32)))
    #expect(try worker.messages(untilEnded: 1).released == [2])
  }

  @Test(arguments: [
    ("max-age=0, stale-if-error=3600", true), ("max-age=0", false),
    ("max-age=0, stale-while-revalidate=3600", true),
    ("max-age=0, stale-if-error=3600, must-revalidate", false),
  ])
  func `a look-up for a failing host finds what may be served stale, and does not revalidate it`(
    cacheControl: String, isFound: Bool
  ) throws {
    serve(cacheControl)
    _ = try fetch(batch(1))
    try worker.send(.lookup(batch(2, takesStale: true)))
    let found = try worker.lookupResults()
    #expect(found.hits.map(\.lease) == (isFound ? [2] : []))
    #expect(found.stale.isEmpty)
    try worker.send(.lookup(batch(3, .reload, takesStale: true)))
    #expect(try worker.lookupResults().misses == [3])
  }

  // MARK: - Revalidation

  @Test(arguments: [Keep.thumbnail, .all, .original])
  func `a 304 renews the record on new terms without a decode`(keep: Keep) throws {
    serve("max-age=0")
    _ = try fetch(batch(1, keep: keep))
    let before = try record()
    serve("max-age=3600")
    let said = try fetch(batch(2, keep: keep, retention: .seconds(600)))
    #expect(said.outcomes[2]?.isFromCache == true)
    #expect(said.outcomes[2]?.bytesFetched == 0)
    #expect(said.outcomes[2]?.width == (keep == .original ? 320 : 64))
    #expect(said.transferred == [2])
    #expect(condition == "\"1\"")
    #expect(origin.counters("/a").bytesSent == pictures[0].count)
    #expect(try lookUp(.byProtocol, keep: keep) == "hit")
    guard keep != .original, let before, let after = try record() else { return }
    #expect(after.storageTime >= before.storageTime)
    #expect(after.storageTime.duration(to: after.expiryTime) == .seconds(600))
  }

  @Test func `a picture that changed is fetched and decoded`() throws {
    serve("max-age=0")
    _ = try fetch(batch(1, width: 256))
    serve("max-age=3600", entityTag: "\"2\"", picture: 1)
    let said = try fetch(batch(2, width: 256))
    #expect(condition == "\"1\"")
    #expect(said.outcomes[2]?.isFromCache == false)
    #expect(said.outcomes[2]?.width == 200)
    #expect(try lookUp(.byProtocol) == "miss")
    #expect(try lookUp(.byProtocol, width: 256) == "hit")
  }

  @Test(arguments: [CachePolicy.reload, .cacheElseLoad])
  func `no other policy revalidates`(policy: CachePolicy) throws {
    serve("max-age=0")
    _ = try fetch(batch(1))
    #expect(try fetch(batch(2, policy)).outcomes[2]?.isFromCache == false)
    #expect(condition == nil)
    #expect(origin.counters("/a").bytesSent == 2 * pictures[0].count)
  }

  @Test(arguments: [CachePolicy.byProtocol, .reload, .cacheElseLoad])
  func `an attached lease without a record is released after a 304`(policy: CachePolicy) throws {
    serve("max-age=0")
    _ = try fetch(batch(1))
    // No body follows a 304, so the answer is held back as a whole.
    origin.serve(
      "/a",
      .response(Response(status: 304, headers: [Header("ETag", "\"1\"")], delivery: .hold)))
    try worker.send(.fetch(batch(2)))
    try worker.send(.attach(batch(3, policy, width: 32)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let said = try worker.messages(untilEnded: 2)
    #expect(said.released == [3])
    #expect(said.outcomes[2]?.isFromCache == true)
    serve("max-age=0")
    #expect(try fetch(batch(4, policy, width: 32)).outcomes[4]?.width == 32)
    #expect(condition == nil)
  }

  // MARK: - Uncached and stale results

  @Test func `a no-store picture is sent uncached to a request that follows HTTP`() throws {
    serve("no-store")
    let said = try fetch(batch(1))
    #expect(said.uncached[1]?.made.failure == nil)
    #expect(said.pictures[1]?.isEmpty == false)
    #expect(try worker.entryCount() == 0)
    #expect(try fetch(batch(2, .reload)).outcomes[2]?.width == 64)
    #expect(try lookUp(.cacheElseLoad) == "hit")
  }

  @Test(arguments: [
    ("max-age=0, stale-if-error=3600", 503, true), ("max-age=0, stale-if-error=3600", 404, false),
    ("max-age=0, stale-if-error=3600, must-revalidate", 503, false),
    ("max-age=0", 503, false),
  ])
  func `a stale record is served after an error if its terms allow it`(
    cacheControl: String, status: Int, isServed: Bool
  ) throws {
    serve(cacheControl)
    _ = try fetch(batch(1, keep: .all))
    origin.serve("/a", .status(status))
    for (lease, keep) in [(2, .thumbnail), (3, .all)] as [(LeaseID, Keep)] {
      let outcome = try fetch(batch(lease, keep: keep)).outcomes[lease]
      #expect(outcome?.isFromCache == (isServed ? true : nil))
    }
    let other = try fetch(batch(5, .cacheElseLoad)).outcomes[5]
    #expect(other?.failureCode == .httpStatus)
  }
}
