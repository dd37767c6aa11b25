import ImgModel
import ImgStore
import ImgWire
import TestOrigin
import TestPictures
import Testing

@testable import ImgWorker

/// Several leases on one transfer, from their assignment to their results.
@Suite(.timeLimit(.minutes(20))) struct SingleFlightTests {
  private let origin: TestOrigin
  private let picture: [UInt8]
  private let worker: RunningWorker
  private let url: String

  init() throws {
    origin = try TestOrigin()
    picture = try PictureMaker.start().card(index: 1)
    origin.serve("/a", .body(picture, delivery: .hold))
    worker = try RunningWorker()
    url = origin.baseURL + "/a"
  }

  /// An assignment of the URL whose thumbnail is this wide.
  private func batch(_ lease: LeaseID, url: String? = nil, width: Int = 64) throws -> Batch {
    Batch(
      ThumbnailRequest(variant: try Variant(ImageVariant(width: width, height: width))),
      retention: Retention(after: .seconds(60)), isUrgent: false,
      items: [Assignment(lease: lease, url: url ?? self.url)])
  }

  @Test func `one transfer serves several variants, and its bytes are counted once`() throws {
    try worker.send(.fetch(batch(1, width: 64)))
    try worker.send(.attach(batch(2, width: 32)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let said = try worker.messages(untilEnded: 2)
    #expect(said.transferred == [1, 2])
    #expect(said.outcomes[1]?.width == 64)
    #expect(said.outcomes[2]?.width == 32)
    #expect(said.outcomes[1]?.bytesFetched == picture.count)
    #expect(said.outcomes[2]?.bytesFetched == 0)
    #expect(origin.counters("/a").requests == 1)
  }

  @Test func `each fetch starts a transfer of its own`() throws {
    try worker.send(.fetch(batch(1)))
    try worker.send(.fetch(batch(2)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let said = try worker.messages(untilEnded: 2)
    #expect(said.outcomes.values.map(\.bytesFetched) == [picture.count, picture.count])
    #expect(origin.counters("/a").requests == 2)
  }

  @Test func `a failure reaches every lease of the transfer`() throws {
    origin.serve("/a", .response(Response(status: 404, body: picture, delivery: .hold)))
    try worker.send(.fetch(batch(1)))
    try worker.send(.attach(batch(2)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let said = try worker.messages(untilEnded: 2)
    #expect(said.outcomes.values.map(\.failureCode) == [.httpStatus, .httpStatus])
    #expect(said.outcomes[1]?.bytesFetched == picture.count)
    #expect(said.outcomes[2]?.bytesFetched == 0, "the body was sent once")
    #expect(said.transferred.isEmpty)
  }

  @Test func `the transfer goes on when the lease that began it is cancelled`() throws {
    try worker.send(.fetch(batch(1)))
    try worker.send(.attach(batch(2)))
    try worker.send(.cancel(LeaseList(leases: [1])))
    #expect(try worker.messages(untilEnded: 1).outcomes == [1: .cancelled])
    origin.release("/a")
    let said = try worker.messages(untilEnded: 1)
    #expect(said.transferred == [2])
    #expect(said.outcomes[2]?.bytesFetched == picture.count)
  }

  @Test func `the transfer is aborted when its last lease is cancelled`() throws {
    try worker.send(.fetch(batch(1)))
    try worker.send(.attach(batch(2)))
    #expect(origin.waitUntil { $0["/a"].inFlight == 1 })
    try worker.send(.cancel(LeaseList(leases: [1, 2])))
    try worker.send(.attach(batch(3)))
    let said = try worker.messages(untilEnded: 3)
    #expect(said.outcomes == [1: .cancelled, 2: .cancelled])
    #expect(said.released == [3])
    #expect(origin.waitUntil { $0["/a"].aborted == 1 })
  }

  @Test func `a body that served several leases gives back its memory`() throws {
    origin.release("/a")
    var limits = Limits()
    limits.workerMemoryByteCount = 2
    let worker = try RunningWorker(limits: limits)
    for first in stride(from: LeaseID.RawValue(1), to: 9, by: 2) {
      try worker.send(.fetch(batch(LeaseID(rawValue: first))))
      try worker.send(.attach(batch(LeaseID(rawValue: first + 1))))
      let said = try worker.messages(untilEnded: 2)
      #expect(said.outcomes[LeaseID(rawValue: first)]?.bytesFetched == picture.count)
    }
  }

  @Test func `an attach after its transfer is released, and one without a URL fails`() throws {
    origin.release("/a")
    try worker.send(.fetch(batch(1)))
    #expect(try worker.messages(untilEnded: 1).outcomes.keys.contains(1))
    try worker.send(.attach(batch(2)))
    try worker.send(.attach(batch(3, url: "mailto:a")))
    let said = try worker.messages(untilEnded: 2)
    #expect(said.released == [2])
    #expect(said.outcomes[3]?.failureCode == .unsupportedScheme)
  }
}

/// Pictures whose transfers break off, from one attempt to the next.
@Suite(.timeLimit(.minutes(20))) struct ResumedPictureTests {
  private static let tag = "\"v1\""
  private static let cut = 300_000
  private let origin: TestOrigin
  private let picture: [UInt8]
  private let worker: RunningWorker
  private let url: ImageURL

  init() throws {
    origin = try TestOrigin()
    picture = try PictureMaker.start().noise(seed: 1, width: 700, height: 480, format: .png)
    worker = try RunningWorker()
    url = try ImageURL(parsing: origin.baseURL + "/a")
  }

  private func resource(_ delivery: BodyDelivery = .whole) -> Behaviour {
    .resource(
      Resource(picture, contentType: "image/png", entityTag: Self.tag, delivery: delivery))
  }

  private func batch(
    _ lease: LeaseID, path: String = "/a", width: Int = 64, keep: Keep = .thumbnail,
    bypassesStore: Bool = false
  ) throws -> Batch {
    Batch(
      ThumbnailRequest(
        variant: try Variant(ImageVariant(width: width, height: width)), keep: keep,
        bypassesStore: bypassesStore),
      retention: Retention(after: .seconds(60)), isUrgent: false,
      items: [Assignment(lease: lease, url: origin.baseURL + path)])
  }

  private func outcome(of lease: LeaseID, _ batch: Batch) throws -> Outcome? {
    try worker.send(.fetch(batch))
    return try worker.messages(untilEnded: 1).outcomes[lease]
  }

  private func partialByteCount() throws -> Int? {
    try worker.store.current().withPartial(of: PictureName(url), at: worker.now) { _, bytes in
      bytes.count
    }
  }

  @Test func `the next attempt requests only the rest, and each byte is counted once`() throws {
    #expect(picture.count > 1_000_000)
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), resource()]))
    let failed = try outcome(of: 1, batch(1))
    #expect(failed?.failureCode == .truncatedBody)
    #expect(failed?.bytesFetched == Self.cut)
    // It is there when the failure is told.
    #expect(try partialByteCount() == Self.cut)
    let done = try outcome(of: 2, batch(2))
    #expect(done?.width == 64)
    #expect(done?.bytesFetched == picture.count - Self.cut)
    #expect(origin.counters("/a").ranges == ["bytes=300000-"])
    #expect(origin.counters("/a").bytesSent == picture.count)
    #expect(try partialByteCount() == nil)
    #expect(try worker.store.current().statistics(at: worker.now).partialCount == 0)
  }

  @Test func `every lease of a transfer that breaks off fails`() throws {
    origin.serve("/a", resource(.cut(after: Self.cut)))
    try worker.send(.fetch(batch(1)))
    try worker.send(.attach(batch(2, width: 32)))
    let said = try worker.messages(untilEnded: 2)
    #expect(said.outcomes[1]?.failureCode == .truncatedBody)
    #expect(said.outcomes[2]?.failureCode == .truncatedBody || said.released == [2])
  }

  @Test(arguments: [true, false])
  func `a request that stores nothing leaves no partial body and continues none`(isBypass: Bool)
    throws
  {
    origin.serve("/a", resource(.cut(after: Self.cut)))
    let keep = isBypass ? Keep.thumbnail : .none
    let failed = try outcome(of: 1, batch(1, keep: keep, bypassesStore: isBypass))
    #expect(failed?.failureCode == .truncatedBody)
    #expect(try partialByteCount() == nil)
    _ = try outcome(of: 2, batch(2))
    #expect(try partialByteCount() == Self.cut)
    _ = try outcome(of: 3, batch(3, keep: keep, bypassesStore: isBypass))
    #expect(origin.counters("/a").ranges.isEmpty)
  }

  @Test func `a picture that is missing at its origin removes its partial body`() throws {
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .status(404)]))
    _ = try outcome(of: 1, batch(1))
    #expect(try partialByteCount() == Self.cut)
    #expect(try outcome(of: 2, batch(2))?.failureCode == .httpStatus)
    // The next one that is stored comes behind the removal.
    origin.serve("/b", .body(picture, contentType: "image/png"))
    #expect(try outcome(of: 3, batch(3, path: "/b"))?.width == 64)
    #expect(try partialByteCount() == nil)
  }

  @Test func `a picture that has changed comes in whole, within the same attempt`() throws {
    let other = try PictureMaker.start().card(index: 2)
    origin.serve(
      "/a",
      .sequence([
        resource(.cut(after: Self.cut)), .resource(Resource(other, entityTag: "\"v2\"")),
      ]))
    #expect(try outcome(of: 1, batch(1))?.bytesFetched == Self.cut)
    let done = try outcome(of: 2, batch(2))
    #expect(done?.bytesFetched == other.count)
    #expect(origin.counters("/a").requests == 2)
    #expect(try partialByteCount() == nil)
  }

  @Test func `transfers that break off give back the memory of their bodies`() throws {
    origin.serve("/a", resource(.cut(after: Self.cut)))
    var limits = Limits()
    // Half of it is for bodies.
    limits.workerMemoryByteCount = 2 << 20
    let worker = try RunningWorker(limits: limits)
    for lease in LeaseID.RawValue(1)...8 {
      try worker.send(.fetch(batch(LeaseID(rawValue: lease), bypassesStore: lease % 2 == 0)))
      _ = try worker.messages(untilEnded: 1)
    }
    #expect(origin.counters("/a").requests == 8)
  }
}

/// Pictures that are too long for memory, from the origin to the store.
@Suite(.timeLimit(.minutes(20))) struct LongBodyTests {
  private let origin: TestOrigin
  private let picture: [UInt8]
  private let worker: RunningWorker
  private let url: ImageURL

  init() throws {
    origin = try TestOrigin()
    picture = try PictureMaker.start().noise(seed: 1, width: 1_400, height: 1_100, format: .png)
    origin.serve("/a", .body(picture, delivery: .hold))
    worker = try RunningWorker()
    url = try ImageURL(parsing: origin.baseURL + "/a")
  }

  private func batch(_ lease: LeaseID, width: Int, keep: Keep = .thumbnail) throws -> Batch {
    Batch(
      ThumbnailRequest(variant: try Variant(ImageVariant(width: width, height: width)), keep: keep),
      retention: Retention(after: .seconds(60)), isUrgent: false,
      items: [Assignment(lease: lease, url: url.text)])
  }

  @Test func `a long picture serves several variants, and is kept byte by byte`() throws {
    #expect(picture.count > 4 << 20)
    try worker.send(.fetch(batch(1, width: 64, keep: .all)))
    try worker.send(.attach(batch(2, width: 32)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let said = try worker.messages(untilEnded: 2)
    #expect(said.outcomes[1]?.width == 64)
    #expect(said.outcomes[2]?.width == 32)
    #expect(said.outcomes[1]?.bytesFetched == picture.count)
    let key = ContentKey(originalOf: PictureName(url))
    let isKept = try worker.store.current().withThumbnail(key, at: worker.now) { _, bytes in
      bytes.indices.map { bytes[$0] } == picture
    }
    #expect(isKept == true)
  }
}
