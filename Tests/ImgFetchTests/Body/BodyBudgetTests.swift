import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// Transfers whose bodies do not fit the memory all at once.
@Suite(.timeLimit(.minutes(20))) struct BodyBudgetTransferTests {
  private static let mebibyte = 1 << 20

  @Test(arguments: [Delivery.chunked, .whole])
  func `bodies larger than the budget arrive, and what is held stays near it`(
    delivery: Delivery
  ) throws {
    let origin = try TestOrigin { path, _ in
      .body(noise(2 * Self.mebibyte, seed: UInt64(path.utf8.count)), delivery: delivery)
    }
    let budget = 3 * Self.mebibyte
    let fetcher = try Fetcher(bodyBudget: budget) {
      $0.maxBodyByteCount = Int64(2 * Self.mebibyte)
    }
    let paths = (1...8).map { String(repeating: "a", count: $0) }
    let ids = try paths.map { try fetcher.start("\(origin.baseURL)/\($0)") }
    var givenBack: Set<UInt64> = []
    var peak = 0

    try fetcher.run {
      peak = max(peak, fetcher.pool.heldBodyByteCount)
      for (id, transfer) in fetcher.finished where givenBack.insert(id).inserted {
        if let body = transfer.body { fetcher.pool.releaseBody(body.charge) }
      }
      return fetcher.finished.count == ids.count
    }

    for (path, id) in zip(paths, ids) {
      let expected = noise(2 * Self.mebibyte, seed: UInt64(path.utf8.count + 1))
      #expect(fetcher.finished[id]?.body?.bytes == expected)
    }
    #expect(peak >= 2 * Self.mebibyte)
    #expect(peak <= budget + 2 * Self.mebibyte)
  }

  @Test func `everything given back leaves nothing held`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body(noise(300_000), delivery: .chunked))
    let fetcher = try Fetcher()
    let body = try #require(fetcher.fetch(origin.baseURL + "/a").body)
    #expect(fetcher.pool.heldBodyByteCount >= 300_000)
    fetcher.pool.releaseBody(body.charge)
    _ = try fetcher.fetch(origin.baseURL + "/missing")
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test(.ownThread)
  func `a paused transfer is not stalled, and resumes when its turn comes`() throws {
    let origin = try TestOrigin()
    origin.serve("/first", .body(noise(Self.mebibyte)))
    origin.serve("/waits", .body(noise(Self.mebibyte, seed: 2)))
    // Longer than the stall timeout, and small enough to fit.
    origin.serve("/slow", .body(noise(12_000), delivery: .drip(bytesPerSecond: 4_000)))
    let fetcher = try Fetcher(bodyBudget: 4 * Self.mebibyte) {
      $0.stallTimeout = .seconds(1)
    }
    let slow = try fetcher.start(origin.baseURL + "/slow")
    try fetcher.run { fetcher.pool.heldBodyByteCount > 0 }
    _ = try fetcher.fetch(origin.baseURL + "/first")
    let waiting = try fetcher.start(origin.baseURL + "/waits")
    try fetcher.run {
      fetcher.finished[slow] != nil || fetcher.finished[waiting] != nil
    }
    // As the oldest, it may now take the part that is kept for the oldest.
    #expect(fetcher.finished[slow] != nil)

    try fetcher.run { fetcher.finished[waiting] != nil }
    let isWhole = fetcher.finished[waiting]?.body?.bytes == noise(Self.mebibyte, seed: 2)
    #expect(isWhole)
  }

  @Test(.ownThread)
  func `a paused transfer ends by its whole time, and frees what it held`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body(noise(Self.mebibyte)))
    let fetcher = try Fetcher(bodyBudget: 1) { $0.transferTimeout = .milliseconds(1_500) }
    let first = try #require(fetcher.fetch(origin.baseURL + "/a").body)
    #expect(try fetcher.fetch(origin.baseURL + "/a").failure?.code == .timeout)
    #expect(fetcher.pool.heldBodyByteCount == first.charge.byteCount)
  }

  @Test func `a paused transfer can be cancelled, and the next one takes its turn`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body(noise(Self.mebibyte), delivery: .chunked))
    let fetcher = try Fetcher(bodyBudget: 1)
    let first = try #require(fetcher.fetch(origin.baseURL + "/a").body)
    let cancelled = try fetcher.start(origin.baseURL + "/a")
    let next = try fetcher.start(origin.baseURL + "/a")
    try fetcher.run { origin.counters("/a").requests == 3 }

    fetcher.pool.cancel(cancelled)
    fetcher.pool.releaseBody(first.charge)

    try fetcher.run { fetcher.finished[next] != nil }
    #expect(fetcher.finished[next]?.body?.bytes == noise(Self.mebibyte))
    #expect(fetcher.finished[cancelled] == nil)
  }
}
