import ImgDecode
import ImgModel
import ImgWire
import TestOrigin
import TestPictures
import Testing

/// Previews of a body that is arriving.
@Suite(.timeLimit(.minutes(20))) struct PreviewTests {
  private let origin: TestOrigin
  /// Of the size of the pictures, and lossless.
  private let variant: Variant

  init() throws {
    origin = try TestOrigin()
    variant = try Variant(width: 320, height: 320, format: .png)
  }

  private func raster(of bytes: [UInt8]) throws -> Raster {
    try PictureReader(runtime: VipsRuntime.start()).raster(of: bytes)
  }

  private func fetch(
    _ leases: [LeaseID], _ path: String = "/a", bypassesStore: Bool = true
  ) -> Batch {
    Batch(
      ThumbnailRequest(variant: variant, bypassesStore: bypassesStore),
      retention: Retention(after: .seconds(60)), isUrgent: true,
      items: leases.map { Assignment(lease: $0, url: origin.baseURL + path) })
  }

  private func want(_ leases: [LeaseID], of worker: RunningWorker) throws {
    try worker.send(.preview(LeaseList(leases: leases)))
  }

  @Test(arguments: ArrivingPicture.Form.allCases)
  func `each part of a body gives a preview, nearer to the thumbnail than the one before`(
    form: ArrivingPicture.Form
  ) throws {
    let picture = try ArrivingPicture(form)
    origin.serve("/a", .body(picture.bytes, delivery: .steps(picture.steps)))
    let worker = try RunningWorker()
    try worker.send(.fetch(fetch([1])))
    try want([1], of: worker)
    var said = RunningWorker.Said()
    for step in picture.steps.indices {
      // The origin holds the next part until this preview has come.
      said = try worker.messages(after: said) { $0.previews[1]?.count ?? 0 > step }
      origin.release("/a", step: step)
    }
    said = try worker.messages(after: said) { $0.uncached[1] != nil }
    let final = try raster(of: said.pictures[1] ?? [])
    let differences = try (said.previews[1] ?? []).map {
      try raster(of: $0).meanDifference(from: final)
    }
    #expect(differences.count >= picture.steps.count)
    #expect(differences == differences.sorted(by: >), "\(differences)")
    #expect(differences.allSatisfy { $0 > 0 })
    #expect(origin.counters("/a").requests == 1)
  }

  @Test func `previews change neither the thumbnail nor what is stored`() throws {
    let picture = try ArrivingPicture(.interlacedPNG)
    origin.serve("/a", .body(picture.bytes, delivery: .steps(picture.steps)))
    origin.serve("/b", .body(picture.bytes))
    let worker = try RunningWorker()
    try worker.send(.fetch(fetch([1], bypassesStore: false)))
    try want([1], of: worker)
    _ = try worker.messages { $0.previews[1] != nil }
    #expect(try worker.lookUp([Assignment(lease: 9, url: origin.baseURL + "/a")]).misses == [9])
    for step in picture.steps.indices { origin.release("/a", step: step) }
    _ = try worker.messages(untilEnded: 1)
    try worker.send(.fetch(fetch([2], "/b", bypassesStore: false)))
    _ = try worker.messages(untilEnded: 1)
    #expect(try stored("/a", in: worker) == stored("/b", in: worker))
  }

  private func stored(_ path: String, in worker: RunningWorker) throws -> [UInt8]? {
    try worker.thumbnail(of: origin.baseURL + path, as: variant)
  }

  @Test func `nothing is shown of a body of which no previews are wanted`() throws {
    let picture = try ArrivingPicture(.interlacedPNG)
    origin.serve("/a", .body(picture.bytes, delivery: .steps(picture.steps)))
    origin.serve("/b", .body(picture.bytes, delivery: .steps(picture.steps)))
    let worker = try RunningWorker()
    try worker.send(.fetch(fetch([1])))
    try worker.send(.fetch(fetch([2], "/b")))
    try want([2], of: worker)
    // As long as the other body takes for two previews.
    var said = RunningWorker.Said()
    for step in 0..<2 {
      said = try worker.messages(after: said) { $0.previews[2]?.count ?? 0 > step }
      for path in ["/a", "/b"] { origin.release(path, step: step) }
    }
    for path in ["/a", "/b"] { origin.release(path, step: 2) }
    said = try worker.messages(after: said) { $0.uncached.count == 2 }
    #expect(said.previews.keys.sorted() == [2])
  }

  @Test func `a body that is cut after a preview leaves nothing in the store`() throws {
    let picture = try ArrivingPicture(.progressiveJPEG)
    origin.serve(
      "/a", .body(picture.bytes, delivery: .steps([picture.steps[0]])))
    let worker = try RunningWorker()
    try worker.send(.fetch(fetch([1], bypassesStore: false)))
    try want([1], of: worker)
    var said = try worker.messages { $0.previews[1] != nil }
    origin.stop()
    said = try worker.messages(after: said) { $0.outcomes[1] != nil }
    #expect(said.outcomes[1]?.failureCode == .truncatedBody)
    #expect(try worker.lookUp([Assignment(lease: 9, url: origin.baseURL + "/a")]).misses == [9])
  }

  @Test func `a WebP has no preview, and its decoder stays`() throws {
    let webp = try PictureMaker.start().scene(width: 320, height: 240, format: .webp)
    let picture = try ArrivingPicture(.interlacedPNG)
    origin.serve("/a", .body(webp, delivery: .steps([webp.count / 2])))
    origin.serve("/b", .body(picture.bytes, delivery: .steps(picture.steps)))
    let worker = try RunningWorker()
    try worker.send(.fetch(fetch([1])))
    try want([1], of: worker)
    try worker.send(.fetch(fetch([2], "/b")))
    try want([2], of: worker)
    // The other body comes second, so that the first has had its turn.
    var said = try worker.messages { $0.previews[2] != nil }
    origin.release("/a")
    for step in picture.steps.indices { origin.release("/b", step: step) }
    said = try worker.messages(after: said) { $0.uncached.count == 2 }
    #expect(said.previews[1] == nil)
  }

  @Test func `a body in a file is shown, too`() throws {
    let picture = try ArrivingPicture(.interlacedPNG, width: 2_000, height: 1_500)
    try #require(picture.bytes.count > 4 << 20, "bodies of that length are in memory")
    origin.serve("/a", .body(picture.bytes, delivery: .steps(picture.steps)))
    let worker = try RunningWorker()
    try worker.send(.fetch(fetch([1])))
    try want([1], of: worker)
    var said = RunningWorker.Said()
    for step in 0..<2 {
      said = try worker.messages(after: said) { $0.previews[1]?.count ?? 0 > step }
      origin.release("/a", step: step)
    }
    origin.release("/a", step: 2)
    said = try worker.messages(after: said) { $0.uncached[1] != nil }
    let final = try raster(of: said.pictures[1] ?? [])
    let differences = try (said.previews[1] ?? []).map {
      try raster(of: $0).meanDifference(from: final)
    }
    #expect(differences == differences.sorted(by: >), "\(differences)")
  }
}
