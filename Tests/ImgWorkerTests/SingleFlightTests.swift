import ImgModel
import ImgWire
import ImgWorker
import TestOrigin
import TestPictures
import Testing

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
      ThumbnailRequest(variant: try Variant(width: width, height: width)),
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
