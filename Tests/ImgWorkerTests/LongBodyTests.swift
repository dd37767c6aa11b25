import ImgModel
import ImgStore
import ImgWire
import TestOrigin
import TestPictures
import Testing

@testable import ImgWorker

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
      ThumbnailRequest(variant: try Variant(width: width, height: width), keep: keep),
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
