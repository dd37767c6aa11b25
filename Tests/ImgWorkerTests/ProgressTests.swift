import ImgModel
import ImgWire
import TestOrigin
import TestPictures
import Testing

/// How much of a body has arrived.
@Suite(.timeLimit(.minutes(20))) struct ProgressTests {
  private let origin: TestOrigin
  private let worker: RunningWorker
  private let picture: [UInt8]

  init() throws {
    origin = try TestOrigin()
    worker = try RunningWorker()
    picture = try PictureMaker.start().noise(seed: 1, width: 700, height: 480, format: .png)
  }

  private func fetch(_ lease: LeaseID, keep: Keep = .thumbnail) throws {
    try worker.send(
      .fetch(
        Batch(
          ThumbnailRequest(variant: .standard, keep: keep),
          retention: Retention(after: .seconds(60)), isUrgent: true,
          items: [Assignment(lease: lease, url: origin.baseURL + "/a")])))
  }

  private func want(_ lease: LeaseID) throws {
    try worker.send(.progress(LeaseList(leases: [lease])))
  }

  @Test func `each part of a body is reported, and last the whole`() throws {
    let steps = [100_000, 200_000, 300_000]
    origin.serve("/a", .body(picture, delivery: .steps(steps)))
    try fetch(1)
    try want(1)
    var said = RunningWorker.Said()
    for (step, byteCount) in steps.enumerated() {
      said = try worker.messages(after: said) {
        $0.progress[1]?.last?.receivedByteCount == byteCount
      }
      origin.release("/a", step: step)
    }
    said = try worker.messages(after: said) { $0.outcomes[1] != nil }
    let progress = said.progress[1] ?? []
    #expect(progress.allSatisfy { $0.expectedByteCount == picture.count })
    #expect(
      zip(progress, progress.dropFirst()).allSatisfy {
        $0.receivedByteCount < $1.receivedByteCount
      })
    #expect(progress.last?.receivedByteCount == picture.count)
  }

  @Test func `a resumed download counts the bytes that were there before`() throws {
    func resource(_ delivery: Delivery) -> Behaviour {
      .resource(
        Resource(picture, contentType: "image/png", entityTag: "\"v1\"", delivery: delivery))
    }
    origin.serve(
      "/a", .sequence([resource(.cut(after: 300_000)), resource(.stall(after: 10_000))]))
    try fetch(1)
    _ = try worker.messages(untilEnded: 1)
    try fetch(2)
    try want(2)
    var said = try worker.messages { $0.progress[2] != nil }
    #expect(origin.counters("/a").ranges == ["bytes=300000-"])
    origin.release("/a")
    said = try worker.messages(after: said) { $0.outcomes[2] != nil }
    let progress = said.progress[2] ?? []
    #expect(progress.first.map { (300_001...310_000).contains($0.receivedByteCount) } == true)
    #expect(progress.last?.receivedByteCount == picture.count)
    #expect(progress.allSatisfy { $0.expectedByteCount == picture.count })
  }

  @Test func `the facts of a picture have no progress`() throws {
    origin.serve("/a", .body(picture))
    try fetch(1, keep: .facts)
    try want(1)
    let said = try worker.messages(untilEnded: 1)
    #expect(said.progress.isEmpty)
  }
}
