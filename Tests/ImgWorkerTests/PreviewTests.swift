import ImgDecode
import ImgModel
import ImgSystem
import ImgWire
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// Previews of a body that is arriving.
@Suite(.timeLimit(.minutes(20))) struct PreviewTests {
  private let origin = TestOrigin()
  /// Of the size of the pictures, and lossless.
  private let variant: Variant

  init() throws {
    variant = try Variant(ImageVariant(width: 320, height: 320, format: .png))
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

  private func want(
    _ leases: [LeaseID], _ updates: ArrivalUpdates = .previews, of worker: RunningWorker
  ) throws {
    for lease in leases { try worker.send(.updates(lease, updates)) }
  }

  @Test(arguments: ArrivingPicture.Form.allCases)
  func `each part of a body gives a preview, nearer to the thumbnail than the one before`(
    form: ArrivingPicture.Form
  ) throws {
    let picture = try ArrivingPicture(form)
    origin.serve("/a", .body(picture.bytes, delivery: .steps(picture.steps)))
    let worker = try RunningWorker()
    try worker.send(.fetch(fetch([1])))
    try want([1], [.previews, .rows], of: worker)
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

/// How much of a body has arrived.
@Suite(.timeLimit(.minutes(20))) struct ProgressTests {
  private let origin = TestOrigin()
  private let worker: RunningWorker
  private let picture: [UInt8]

  init() throws {
    worker = try RunningWorker()
    picture = try PictureMaker.start().noise(seed: 1, width: 700, height: 480, format: .png)
  }

  private func fetch(_ lease: LeaseID, keep: Keep = .thumbnail) throws {
    try worker.send(.fetch(Batch(lease, origin.baseURL + "/a", keep: keep)))
  }

  private func want(_ lease: LeaseID) throws {
    try worker.send(.updates(lease, .progress))
  }

  @Test func `a resumed download counts the bytes that were there before`() throws {
    func resource(_ delivery: BodyDelivery) -> Behaviour {
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
}

/// Thumbnails that are not in the store: the worker sends their bytes to the coordinator.
@Suite(.timeLimit(.minutes(20))) struct UncachedResultTests {
  private let origin = TestOrigin()
  private let picture: [UInt8]

  init() throws {
    picture = try PictureMaker.start().card(index: 1)
    origin.serve("/a", .body(picture))
  }

  /// A worker with a store that no thumbnail fits.
  private func workerOfTinyStore() throws -> RunningWorker {
    var limits = Limits()
    limits.storeBudgetByteCount = 100
    return try RunningWorker(limits: limits)
  }

  private func batch(
    _ leases: [LeaseID], isUrgent: Bool = false, bypassesStore: Bool = false
  ) -> Batch {
    Batch(
      ThumbnailRequest(variant: .standard, bypassesStore: bypassesStore),
      retention: Retention(after: .seconds(60)), isUrgent: isUrgent,
      items: leases.map { Assignment(lease: $0, url: origin.baseURL + "/a") })
  }

  @Test(arguments: [false, true])
  func `a thumbnail larger than the budget is sent uncached`(isUrgent: Bool) throws {
    let worker = try workerOfTinyStore()
    try worker.send(.fetch(batch([1], isUrgent: isUrgent)))
    let said = try worker.messages(untilEnded: 1)
    let result = try #require(said.uncached[1])
    let thumbnail = result.made.thumbnail
    let raster = try PictureReader(runtime: VipsRuntime.start()).raster(of: said.pictures[1] ?? [])
    #expect([raster.width, raster.height] == [thumbnail.width, thumbnail.height])
    #expect([result.made.source.width, result.made.source.height] == [320, 240])
    #expect(result.bytesFetched == picture.count)
    #expect(result.made.failure?.code == .storeFull)
    #expect(result.made.failure?.isRetryable == true)
    #expect(!result.isStoreDegraded, "the store has room for others")
    #expect(said.outcomes.isEmpty)
  }

  @Test func `a coordinator that is slow to read gets every picture`() throws {
    origin.serve("/a", .body(picture, delivery: .hold))
    let worker = try workerOfTinyStore()
    // More than a socket takes and than may wait as open files.
    let leases = (1...600).map { LeaseID(rawValue: $0) }
    try worker.send(.fetch(batch([1])))
    try worker.send(.attach(batch(Array(leases.dropFirst()))))
    try worker.waitUntilHandled()
    origin.release("/a")
    #expect(waitForOpenFiles(count: 64))
    let said = try worker.messages(untilEnded: leases.count)
    #expect(Set(said.uncached.keys) == Set(leases))
    #expect(said.pictures.values.allSatisfy { $0 == said.pictures[1] })
  }

  /// Waits until so many files in memory are open in this process, which the worker is a thread of.
  private func waitForOpenFiles(count: Int) -> Bool {
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
      if openMemoryFileCount(of: ThisProcess.processID) >= count { return true }
      ThisProcess.pause(for: .milliseconds(5))
    }
    return false
  }
}
