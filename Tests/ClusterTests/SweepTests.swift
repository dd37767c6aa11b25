import ImgClient
import ImgModel
import ImgStore
import TestCluster
import Testing

/// The background sweep removes expired thumbnails.
@Suite(.timeLimit(.minutes(20)))
struct SweepTests {
  private static let storeBudgetByteCount: Int64 = 400 << 20

  /// Puts thumbnails into the store that expire at a moment.
  private func put(
    _ numbers: Range<Int>, expiringAt moment: WallTime, into store: ThumbnailStore
  ) throws {
    let thumbnails = try numbers.map { number in
      let url = try ImageURL(parsing: "http://example.org/\(number).jpg")
      return NewThumbnail(
        key: ContentKey(PictureName(url), variant: .standard), url: url.text,
        thumbnail: Thumbnail(format: .jpeg, width: 64, height: 48, byteCount: 200),
        sourceFormat: .jpeg, sourceWidth: 640, sourceHeight: 480, sourceByteCount: 10_000,
        retention: Retention(until: moment), bytes: [UInt8](repeating: 7, count: 200))
    }
    try store.put(thumbnails, at: moment.advanced(by: .seconds(-604_800)))
  }

  @Test
  func
    `U23: of 50,000 expired entries the first answer after the start knows nothing, and they go`()
    throws
  {
    let cluster = try Cluster(isStarted: false)
    let now = WallTime.now
    do {
      let store = try ThumbnailStore(
        directory: cluster.storeDirectory,
        access: .readWrite(budgetByteCount: Self.storeBudgetByteCount))
      let longAgo = now.advanced(by: .seconds(-120))
      for start in stride(from: 0, to: 50_000, by: 1_000) {
        try put(start..<start + 1_000, expiringAt: longAgo, into: store)
      }
      try put(50_000..<50_005, expiringAt: now.advanced(by: .seconds(86_400)), into: store)
    }
    let reader = try #require(try StoreReader(directory: cluster.storeDirectory))
    let occupiedBefore = try reader.summary().occupiedByteCount

    try cluster.start()
    #expect(try cluster.status().workers.count == 2)
    // Fifty thousand take two hundred batches, five a second.
    #expect(try reader.summary().entryCount > 5)
    #expect(try eventually(within: .seconds(240)) { try reader.summary().entryCount == 5 })
    #expect(try reader.summary().occupiedByteCount < occupiedBefore / 10)
    #expect(try reader.statistics().counters?.expiredRemovals == 50_000)
  }

  @Test func `the sweep skips thumbnails that expired within the last minute`() throws {
    let cluster = try Cluster(isStarted: false)
    let now = WallTime.now
    // One that has just expired, and more that follow, however slow all this is.
    let expiries = (0..<10).map { now.advanced(by: .seconds($0 * 30)) }
    do {
      let store = try ThumbnailStore(
        directory: cluster.storeDirectory,
        access: .readWrite(budgetByteCount: Self.storeBudgetByteCount))
      for (number, expiry) in expiries.enumerated() {
        try put(number..<number + 1, expiringAt: expiry, into: store)
      }
      try put(10..<20, expiringAt: now.advanced(by: .seconds(-120)), into: store)
    }
    let reader = try #require(try StoreReader(directory: cluster.storeDirectory))
    try cluster.start()
    #expect(try eventually { try reader.summary().entryCount <= 10 })
    let entryCount = try reader.summary().entryCount
    let aMinuteAgo = WallTime.now.advanced(by: .seconds(-60))
    #expect(entryCount >= expiries.count { $0 > aMinuteAgo })
  }
}
