import ImgModel
import ImgStore
import ImgWire
import TestOrigin
import TestPictures
import Testing

@testable import ImgWorker

/// Damaged pictures, for requests that accept damage and for others.
@Suite(.timeLimit(.minutes(20))) struct LenientTests {
  private let origin: TestOrigin
  private let picture: [UInt8]
  private let damaged: [UInt8]
  private let worker: RunningWorker
  private let url: ImageURL

  init() throws {
    origin = try TestOrigin()
    picture = try PictureMaker.start().scene(width: 320, height: 240, format: .jpeg)
    damaged = Array(picture.prefix(picture.count / 2))
    worker = try RunningWorker()
    url = try ImageURL(parsing: origin.baseURL + "/a")
    serve(damaged)
  }

  private func serve(_ body: [UInt8], entityTag: String = "\"1\"", delivery: Delivery = .whole) {
    let resource = Resource(
      body, entityTag: entityTag, delivery: delivery,
      headers: [Header("Cache-Control", "max-age=0")])
    origin.serve("/a", .resource(resource))
  }

  private func batch(
    _ lease: LeaseID, isLenient: Bool, width: Int = 64, keep: Keep = .thumbnail,
    policy: CachePolicy = .cacheElseLoad
  ) throws -> Batch {
    Batch(
      ThumbnailRequest(
        variant: try Variant(width: width, height: width), isLenient: isLenient, keep: keep,
        fetch: FetchOptions(cachePolicy: policy)),
      retention: Retention(after: .seconds(60)), isUrgent: false,
      items: [Assignment(lease: lease, url: url.text)])
  }

  private func end(_ lease: LeaseID, _ message: CoordinatorMessage) throws -> Outcome? {
    try worker.send(message)
    return try worker.messages(untilEnded: 1).outcomes[lease]
  }

  private func lookUp(
    isLenient: Bool, width: Int = 64, keep: Keep = .thumbnail
  ) throws -> LookupResults {
    try worker.send(.lookup(batch(99, isLenient: isLenient, width: width, keep: keep)))
    return try worker.lookupResults()
  }

  private var requestCount: Int { origin.counters("/a").requests }

  @Test func `the thumbnail of a damaged picture answers only lenient requests`() throws {
    #expect(try end(1, .fetch(batch(1, isLenient: false)))?.failureCode == .corruptImage)
    #expect(try end(2, .fetch(batch(2, isLenient: true)))?.isDamaged == true)
    #expect(try lookUp(isLenient: false).misses == [99])
    #expect(try lookUp(isLenient: true).hits.first?.thumbnail.isDamaged == true)
    #expect(try end(3, .fetch(batch(3, isLenient: false)))?.failureCode == .corruptImage)
    #expect(try lookUp(isLenient: true).hits.count == 1)
  }

  @Test func `the thumbnail of an undamaged picture answers all, and replaces a damaged one`()
    throws
  {
    #expect(try end(1, .fetch(batch(1, isLenient: true)))?.isDamaged == true)
    serve(picture, entityTag: "\"2\"")
    #expect(try end(2, .fetch(batch(2, isLenient: false)))?.isDamaged == false)
    for isLenient in [false, true] {
      #expect(try lookUp(isLenient: isLenient).hits.first?.thumbnail.isDamaged == false)
    }
    #expect(try end(3, .fetch(batch(3, isLenient: true)))?.isDamaged == false)
  }

  @Test func `leases of one transfer have their own outcomes`() throws {
    serve(damaged, delivery: .hold)
    try worker.send(.fetch(batch(1, isLenient: false)))
    try worker.send(.attach(batch(2, isLenient: true)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let outcomes = try worker.messages(untilEnded: 2).outcomes
    #expect(outcomes[1]?.failureCode == .corruptImage)
    #expect(outcomes[2]?.isDamaged == true)
    #expect(requestCount == 1)
  }

  @Test func `a damaged original answers only lenient requests, and stays`() throws {
    #expect(try end(1, .fetch(batch(1, isLenient: true, keep: .all)))?.isDamaged == true)
    #expect(try lookUp(isLenient: false, keep: .original).misses == [99])
    #expect(try lookUp(isLenient: true, keep: .original).hits.first?.thumbnail.isDamaged == true)
    try worker.send(.decode(batch(2, isLenient: false, width: 32)))
    #expect(try worker.messages(untilEnded: 1).released == [2])
    #expect(try lookUp(isLenient: true, width: 32).originals == [99])
    #expect(try end(3, .decode(batch(3, isLenient: true, width: 32)))?.isDamaged == true)
    #expect(requestCount == 1)
  }

  @Test func `a 304 keeps the mark`() throws {
    let policy = CachePolicy.byProtocol
    #expect(try end(1, .fetch(batch(1, isLenient: true, policy: policy)))?.isDamaged == true)
    let renewed = try end(2, .fetch(batch(2, isLenient: true, policy: policy)))
    #expect(renewed?.isFromCache == true)
    #expect(renewed?.isDamaged == true)
    #expect(origin.counters("/a").headersSeen["if-none-match"] == "\"1\"")
    #expect(try lookUp(isLenient: false).misses == [99])
    #expect(try lookUp(isLenient: true).hits.first?.thumbnail.isDamaged == true)
    // The record is none to a strict request, which asks for the picture itself.
    let strict = try end(3, .fetch(batch(3, isLenient: false, policy: policy)))
    #expect(strict?.failureCode == .corruptImage)
    #expect(origin.counters("/a").headersSeen["if-none-match"] == nil)
  }

  @Test func `a strict lease attached to a revalidation of a damaged record is released`() throws {
    let policy = CachePolicy.byProtocol
    #expect(try end(1, .fetch(batch(1, isLenient: true, policy: policy)))?.isDamaged == true)
    serve(damaged, delivery: .hold)
    try worker.send(.fetch(batch(2, isLenient: true, policy: policy)))
    try worker.send(.attach(batch(3, isLenient: false, policy: policy)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let said = try worker.messages(untilEnded: 2)
    #expect(said.outcomes[2]?.isDamaged == true)
    #expect(said.released == [3])
  }
}
