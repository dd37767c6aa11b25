import ImgModel
import ImgStore
import ImgWire
import TestOrigin
import TestPictures
import Testing

@testable import ImgWorker

/// Thumbnails of several sizes from one fetch.
@Suite(.timeLimit(.minutes(20))) struct SeveralSizesTests {
  private let origin: TestOrigin
  private let picture: [UInt8]
  private let worker: RunningWorker
  private let url: ImageURL

  init() throws {
    origin = try TestOrigin()
    picture = try PictureMaker.start().card(index: 1)
    origin.serve("/a", .body(picture))
    worker = try RunningWorker()
    url = try ImageURL(parsing: origin.baseURL + "/a")
  }

  private func batch(_ lease: LeaseID, sides: [Int], keep: Keep = .thumbnail) throws -> Batch {
    let variants = try sides.map { try Variant(width: $0, height: $0) }
    return Batch(
      ThumbnailRequest(
        variant: variants[0], otherVariants: Array(variants.dropFirst()), keep: keep),
      retention: Retention(after: .seconds(60)), isUrgent: false,
      items: [Assignment(lease: lease, url: url.text)])
  }

  private func fetch(_ sides: [Int], keep: Keep = .thumbnail) throws {
    try worker.send(.fetch(batch(1, sides: sides, keep: keep)))
    let outcome = try worker.messages(untilEnded: 1).outcomes[1]
    #expect(outcome?.width == sides[0])
  }

  private func isHit(_ sides: [Int], keep: Keep = .thumbnail) throws -> Bool {
    try worker.send(.lookup(batch(2, sides: sides, keep: keep)))
    return try worker.lookupResults().hits.map(\.thumbnail.width) == [sides[0]]
  }

  @Test func `each size is a record of its own, from one request`() throws {
    try fetch([64, 200, 32])
    #expect(origin.counters("/a").requests == 1)
    for side in [64, 200, 32] {
      let key = ContentKey(
        PictureName(url), variant: try Variant(width: side, height: side))
      let width = try worker.store.current().withThumbnail(key, at: worker.now) { facts, _ in
        facts.thumbnail.width
      }
      #expect(width == side)
    }
    #expect(try worker.store.current().summary().entryCount == 3)
  }

  @Test func `a hit needs all sizes`() throws {
    try fetch([64, 32])
    #expect(try isHit([64, 32]))
    #expect(try isHit([32, 64]))
    #expect(try isHit([32]))
    #expect(try !isHit([64, 32, 16]))
    #expect(try !isHit([64, 32], keep: .all))
  }

  @Test func `with the original, missing sizes need no request`() throws {
    try fetch([64], keep: .all)
    try worker.send(.lookup(batch(2, sides: [64, 32])))
    #expect(try worker.lookupResults().originals == [2])
    try worker.send(.decode(batch(3, sides: [64, 32])))
    #expect(try worker.messages(untilEnded: 1).outcomes[3]?.width == 64)
    #expect(try isHit([64, 32]))
    #expect(origin.counters("/a").requests == 1)
  }
}
