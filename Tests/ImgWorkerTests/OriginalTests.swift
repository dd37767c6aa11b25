import FoundationEssentials
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import TestOrigin
import TestPictures
import Testing

@testable import ImgWorker

/// Keeping originals, and making thumbnails of them.
@Suite(.timeLimit(.minutes(20))) struct OriginalTests {
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

  private func batch(_ lease: LeaseID, width: Int = 64, keep: Keep = .thumbnail) throws -> Batch {
    Batch(
      ThumbnailRequest(variant: try Variant(width: width, height: width), keep: keep),
      retention: Retention(after: .seconds(60)), isUrgent: false,
      items: [Assignment(lease: lease, url: url.text)])
  }

  private func fetch(_ lease: LeaseID, keep: Keep) throws -> Outcome? {
    try worker.send(.fetch(batch(lease, keep: keep)))
    let said = try worker.messages(untilEnded: 1)
    return said.outcomes[lease]
      ?? said.uncached[lease].map {
        .done($0.made.thumbnail, fromCache: false, bytesFetched: $0.bytesFetched)
      }
  }

  private func entryCount() throws -> Int { try worker.store.current().summary().entryCount }

  @Test(arguments: [(Keep.none, 0), (.thumbnail, 1), (.original, 1), (.all, 2)])
  func `what is kept is what was asked for`(keep: Keep, count: Int) throws {
    let outcome = try fetch(1, keep: keep)
    #expect(outcome?.width == (keep == .original ? 320 : 64))
    #expect(outcome?.bytesFetched == picture.count)
    #expect(try entryCount() == count)
  }

  @Test func `an original is kept byte by byte, once for all variants of a transfer`() throws {
    origin.serve("/a", .body(picture, delivery: .hold))
    try worker.send(.fetch(batch(1, width: 64, keep: .all)))
    try worker.send(.attach(batch(2, width: 32, keep: .all)))
    try worker.waitUntilHandled()
    origin.release("/a")
    #expect(try worker.messages(untilEnded: 2).outcomes.count == 2)
    #expect(try entryCount() == 3)
    let key = ContentKey(originalOf: PictureName(url))
    let stored = try worker.store.current().withThumbnail(key, at: worker.now) { facts, bytes in
      (facts: facts, bytes: bytes.indices.map { bytes[$0] })
    }
    #expect(stored?.bytes == picture)
    #expect(stored?.facts.isOriginal == true)
    #expect(try worker.store.current().summary().entryCount == 3)
  }

  /// A drawing of 40 × 30 pixels, compressed as a whole (SVG 1.1 section 3.2), and the same in `gzip`.
  private static let drawings = [
    "H4sIAAAAAAACA7MpLktXqMjNySu2Vc8oKSmw0tcvLy/XKzfWyy9K1zcyMDDQB6pQVyjPTCnJsFU3MVBXyEjNTM8osVU3NlDX"
      + "twMALYU9skAAAAA=",
    "H4sIAAAAAAACA5Pv5mAAASbmzZp63uErTpw9qb0t9LyGpuaGS9f19fWva5tfO63vdd3cyMDgAvuqgHCN8z6aJzeEmhsGhJ/wOOtz"
      + "XmNjqLlZwPXtzAy6rbabHIBGAQCGMMWCUwAAAA==",
  ]

  @Test(arguments: [(0, nil), (0, "gzip"), (1, "gzip")])
  func `a compressed drawing comes in with and without a Content-Encoding`(
    drawing: Int, coding: String?
  ) throws {
    let bytes = try #require(Data(base64Encoded: Self.drawings[drawing]).map(Array.init))
    let headers = coding.map { [Header("Content-Encoding", $0)] } ?? []
    origin.serve("/a", .body(bytes, contentType: "image/svg+xml", headers: headers))
    let outcome = try fetch(1, keep: .all)
    #expect(outcome?.width == 64 && outcome?.bytesFetched == bytes.count)
    let key = ContentKey(originalOf: PictureName(url))
    let stored = try worker.store.current().withThumbnail(key, at: worker.now) { facts, _ in facts }
    // The original is the picture as it was before it was encoded.
    let decoded = drawing == 1 ? Data(base64Encoded: Self.drawings[0])?.count : nil
    #expect(stored?.thumbnail.byteCount == (coding == nil ? bytes.count : decoded ?? 64))
  }

  @Test func `look-ups tell originals from hits and misses`() throws {
    _ = try fetch(1, keep: .all)
    try worker.send(.lookup(batch(2)))
    try worker.send(.lookup(batch(3, width: 32)))
    try worker.send(.lookup(batch(4, width: 32, keep: .all)))
    try worker.send(.lookup(batch(5, width: 32, keep: .original)))
    let found = try (0..<4).map { _ in try worker.lookupResults() }
    #expect(found.map { $0.hits.map(\.lease) } == [[2], [], [], [5]])
    #expect(found.map(\.originals) == [[], [3], [4], []])
    #expect(found[3].hits.first?.thumbnail.byteCount == picture.count)
  }

  @Test func `a thumbnail of a kept original asks the origin nothing`() throws {
    _ = try fetch(1, keep: .all)
    try worker.send(.decode(batch(2, width: 32)))
    let outcome = try worker.messages(untilEnded: 1).outcomes[2]
    #expect(outcome?.width == 32)
    #expect(outcome?.bytesFetched == 0)
    #expect(outcome?.isFromCache == true)
    #expect(origin.counters("/a").requests == 1)
    #expect(try entryCount() == 3)
  }

  @Test(arguments: [false, true])
  func `an original that is not an image is removed and its lease released`(
    isCutOff: Bool
  ) throws {
    try worker.keepOriginal(of: url, isCutOff ? Array(picture.prefix(100)) : [1, 2, 3])
    try worker.send(.decode(batch(1)))
    #expect(try worker.messages(untilEnded: 1).released == [1])
    #expect(try entryCount() == 0)
  }

  @Test func `a decode without an original is released`() throws {
    try worker.send(.decode(batch(1)))
    #expect(try worker.messages(untilEnded: 1).released == [1])
  }
}
