import ImgDecode
import ImgModel
import ImgSystem
import ImgWire
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// Thumbnails that are not in the store: the worker sends their bytes to the coordinator.
@Suite(.timeLimit(.minutes(20))) struct UncachedResultTests {
  private let origin: TestOrigin
  private let picture: [UInt8]

  init() throws {
    origin = try TestOrigin()
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
  func `a thumbnail larger than the budget is sent uncached`(isUrgent: Bool)
    throws
  {
    let worker = try workerOfTinyStore()
    try worker.send(.fetch(batch([1], isUrgent: isUrgent)))
    let said = try worker.messages(untilEnded: 1)
    let result = try #require(said.uncached[1])
    let thumbnail = result.made.thumbnail
    let raster = try PictureReader(runtime: VipsRuntime.start()).raster(of: said.pictures[1] ?? [])
    #expect([raster.width, raster.height] == [thumbnail.width, thumbnail.height])
    #expect([result.made.sourceWidth, result.made.sourceHeight] == [320, 240])
    #expect(result.bytesFetched == picture.count)
    #expect(result.made.failure?.code == .storeFull)
    #expect(result.made.failure?.isRetryable == true)
    #expect(!result.isStoreDegraded, "the store has room for others")
    #expect(said.outcomes.isEmpty)
  }

  @Test func `a request that bypasses the store is fetched, sent uncached and not stored`() throws {
    let worker = try RunningWorker()
    for lease in [1, 2] as [LeaseID] {
      try worker.send(.fetch(batch([lease], bypassesStore: true)))
      let said = try worker.messages(untilEnded: 1)
      #expect(said.uncached[lease]?.made.failure == nil)
      #expect(said.uncached[lease]?.isStoreDegraded == false)
      #expect(said.pictures[lease]?.isEmpty == false)
    }
    #expect(origin.counters("/a").requests == 2)
    let found = try worker.lookUp([Assignment(lease: 3, url: origin.baseURL + "/a")])
    #expect(found.misses == [3])

    try worker.send(.fetch(batch([4])))
    #expect(try worker.messages(untilEnded: 1).outcomes.keys.contains(4))
    #expect(try worker.lookUp([Assignment(lease: 5, url: origin.baseURL + "/a")]).hits.count == 1)
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
