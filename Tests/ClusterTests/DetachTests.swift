import ImgModel
import ImgWire
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// A client that no longer waits for one of its requests.
@Suite(.timeLimit(.minutes(20)))
struct DetachTests {
  private let cluster: Cluster
  private let origin: ListOrigin
  private let channel: ClientChannel

  init() throws {
    cluster = try Cluster()
    origin = try ListOrigin()
    channel = try cluster.greetedChannel()
  }

  private func get(_ path: String, as number: UInt64) throws {
    try channel.sendWhole(
      .get(
        GetRequest(
          id: RequestID(rawValue: number), url: origin.url(path),
          options: RequestOptions(variant: .standard))))
  }

  private func detach(_ number: UInt64) throws {
    try channel.sendWhole(.detach(PlainRequest(id: RequestID(rawValue: number))))
  }

  /// The next reply, which is the end of a request.
  private func nextEnd() throws -> GotReply {
    while true {
      switch try channel.nextInTime() {
      case .got(let reply): return reply
      case .waiting: continue
      case let other: throw Unexpected(reply: other)
      }
    }
  }

  private struct Unexpected: Error {
    let reply: CoordinatorReply
  }

  @Test func `the transfer is aborted if no other request waits for it`() throws {
    let body = try PictureMaker.start().noise(seed: 1, width: 200, height: 200)
    origin.origin.serve("/drip", .body(body, delivery: .drip(bytesPerSecond: body.count / 20)))
    try get("/drip", as: 1)
    try #require(origin.origin.waitUntil { $0.totals.bytesSent >= body.count / 20 })
    try detach(1)
    let end = try nextEnd()
    #expect(end.id.rawValue == 1)
    #expect(end.outcome == .cancelled)
    #expect(origin.origin.waitUntil { $0.totals.aborted == 1 })
    #expect(origin.origin.totals().bytesSent < body.count)
    #expect(try cluster.waitUntil { $0.viewers == 0 && $0.transfers == 0 })
  }

  @Test func `another request for the same URL goes on`() throws {
    try origin.hold("/a")
    try get("/a", as: 1)
    try get("/a", as: 2)
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    try #require(try cluster.waitUntil { $0.viewers == 2 })
    try detach(1)
    let first = try nextEnd()
    #expect(first.id.rawValue == 1)
    #expect(first.outcome == .cancelled)
    origin.origin.release("/a")
    let second = try nextEnd()
    #expect(second.id.rawValue == 2)
    #expect(second.outcome.isDone)
    #expect(origin.origin.totals().requests == 1)
    #expect(origin.origin.totals().aborted == 0)
  }

  @Test func `other requests of the connection go on`() throws {
    try origin.hold("/a")
    try origin.hold("/b")
    try get("/a", as: 1)
    try get("/b", as: 2)
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 2 })
    try detach(1)
    #expect(try nextEnd().id.rawValue == 1)
    try get("/p/1", as: 3)
    #expect(try nextEnd().id.rawValue == 3)
    origin.origin.release("/b")
    let other = try nextEnd()
    #expect(other.id.rawValue == 2)
    #expect(other.outcome.isDone)
  }

  @Test func `a request that has ended, and one that never was, have no further end`() throws {
    try get("/p/1", as: 1)
    #expect(try nextEnd().outcome.isDone)
    try detach(1)
    try detach(7)
    try get("/p/2", as: 2)
    #expect(try nextEnd().id.rawValue == 2)
    try get("/p/1", as: 1)
    let again = try nextEnd()
    #expect(again.id.rawValue == 1, "the number may be used again")
    #expect(again.outcome.isDone)
  }
}

extension Outcome {
  fileprivate var isDone: Bool { if case .done = self { true } else { false } }
}
