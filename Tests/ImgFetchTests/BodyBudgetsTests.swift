import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

@Suite(.timeLimit(.minutes(20))) struct BodyBudgetsTests {
  private let budgets = BodyBudgets(memoryByteCount: 100, fileByteCount: 1_000)

  @Test func `the oldest transfer may pass the budget while nothing is handed out`() {
    budgets.begin(1)
    #expect(budgets.grow(1, to: BodyCharge(byteCount: 150)))
    #expect(budgets.heldMemoryByteCount == 150)
  }

  @Test func `others share half, and wait until there is room`() {
    budgets.begin(1)
    budgets.begin(2)
    #expect(budgets.grow(2, to: BodyCharge(byteCount: 25)))
    #expect(!budgets.grow(2, to: BodyCharge(byteCount: 26)))
    #expect(budgets.nextToResume() == nil)
    budgets.end(1, isHandedOut: false)
    #expect(budgets.nextToResume() == 2)
    #expect(budgets.nextToResume() == nil)
  }

  @Test func `a body that is handed out is held until it is released`() {
    budgets.begin(1)
    #expect(budgets.grow(1, to: BodyCharge(byteCount: 80)))
    budgets.end(1, isHandedOut: true)
    #expect(budgets.heldMemoryByteCount == 80)
    budgets.begin(2)
    #expect(!budgets.grow(2, to: BodyCharge(byteCount: 21)))
    budgets.release(BodyCharge(byteCount: 80))
    #expect(budgets.heldMemoryByteCount == 0)
    #expect(budgets.nextToResume() == 2)
  }

  @Test func `a body waits for memory only where most of it is handed out`() {
    for id in [1, 2, 3] as [TransferID] { budgets.begin(id) }
    #expect(budgets.grow(2, to: BodyCharge(byteCount: 30)))
    #expect(budgets.prefersFiles)
    budgets.end(2, isHandedOut: true)
    #expect(!budgets.prefersFiles)
  }

  @Test func `a body that waited for both budgets holds up no other in files`() {
    for id in [1, 2, 3] as [TransferID] { budgets.begin(id) }
    #expect(budgets.grow(1, to: BodyCharge(byteCount: 1, isOfFile: true)))
    #expect(!budgets.grow(2, to: BodyCharge(byteCount: 60)))
    #expect(!budgets.grow(2, to: BodyCharge(byteCount: 2_000, isOfFile: true)))
    #expect(!budgets.grow(3, to: BodyCharge(byteCount: 2, isOfFile: true)))
    budgets.end(1, isHandedOut: false)
    #expect(budgets.nextToResume() == 2)
    #expect(budgets.grow(2, to: BodyCharge(byteCount: 60)))
    #expect(budgets.nextToResume() == 3)
    #expect(!budgets.isWaiting(2))
  }

  @Test func `a body moves from memory to a file`() {
    budgets.begin(1)
    #expect(budgets.grow(1, to: BodyCharge(byteCount: 80)))
    #expect(budgets.grow(1, to: BodyCharge(byteCount: 500, isOfFile: true)))
    budgets.leaveMemory(1)
    #expect(budgets.heldMemoryByteCount == 0)
    #expect(budgets.heldFileByteCount == 500)
    budgets.end(1, isHandedOut: false)
    #expect(budgets.heldFileByteCount == 0)
  }

  @Test(arguments: [false, true])
  func `a partial body for which there is no room is charged nothing`(isOfFile: Bool) {
    budgets.begin(1)
    let isBegun = budgets.begin(2, with: BodyCharge(byteCount: 500, isOfFile: isOfFile))
    #expect(isBegun == isOfFile)
    let held = (budgets.heldMemoryByteCount, budgets.heldFileByteCount)
    #expect(held == (isOfFile ? (0, 500) : (0, 0)))
    // It does not wait.
    budgets.end(1, isHandedOut: false)
    #expect(budgets.nextToResume() == nil)
  }
}

/// Transfers whose bodies do not fit the memory all at once.
@Suite(.timeLimit(.minutes(20))) struct BodyBudgetTransferTests {
  private static let mebibyte = 1 << 20

  @Test(arguments: [BodyDelivery.chunked, .whole])
  func `bodies larger than the budget arrive, and what is held stays near it`(
    delivery: BodyDelivery
  ) throws {
    let origin = TestOrigin { path, _ in
      .body(noise(2 * Self.mebibyte, seed: UInt64(path.utf8.count)), delivery: delivery)
    }
    let budget = 3 * Self.mebibyte
    let fetcher = try Fetcher(bodyBudget: budget) {
      $0.maxBodyByteCount = Int64(2 * Self.mebibyte)
    }
    let paths = (1...8).map { String(repeating: "a", count: $0) }
    let ids = try paths.map { try fetcher.start("\(origin.baseURL)/\($0)") }
    var givenBack: Set<TransferID> = []
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

  @Test(.ownThread)
  func `a paused transfer is not stalled, and resumes when its turn comes`() throws {
    let origin = TestOrigin()
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
    let origin = TestOrigin()
    origin.serve("/a", .body(noise(Self.mebibyte)))
    let fetcher = try Fetcher(bodyBudget: 1) { $0.transferTimeout = .milliseconds(1_500) }
    let first = try #require(fetcher.fetch(origin.baseURL + "/a").body)
    #expect(try fetcher.fetch(origin.baseURL + "/a").failure?.code == .timeout)
    #expect(fetcher.pool.heldBodyByteCount == first.charge.byteCount)
  }

  @Test func `a paused transfer can be cancelled, and the next one takes its turn`() throws {
    let origin = TestOrigin()
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

/// Bodies that are not used: those of errors and of redirects.
@Suite(.timeLimit(.minutes(20))) struct UnusedBodyTests {
  private let origin = TestOrigin()

  init() throws {
    origin.serve("/picture", .body([9]))
  }

  private func page(_ status: Int, _ byteCount: Int, _ delivery: BodyDelivery = .whole) -> Behaviour
  {
    .response(
      Response(
        status: status, headers: [Header("Location", "/picture")], body: noise(byteCount),
        delivery: delivery))
  }

  /// All limits of time are far away.
  private func patientFetcher() throws -> Fetcher {
    try Fetcher {
      $0.transferTimeout = .seconds(3_600)
      $0.stallTimeout = .seconds(3_600)
    }
  }

  @Test(.ownThread, arguments: [404, 503])
  func `a page that comes slowly is cut off`(status: Int) throws {
    origin.serve("/a", page(status, 1_000, .stall(after: 1)))
    let fetcher = try patientFetcher()
    let id = try fetcher.start(origin.baseURL + "/a")
    try fetcher.run { fetcher.finished[id] != nil }
    #expect(fetcher.finished[id]?.failure?.httpStatus == status)
    #expect(fetcher.pool.activeCount == 0)
    #expect(fetcher.pool.deadline == nil)
  }

  @Test(.ownThread) func `a redirect is followed before its page is in`() throws {
    origin.serve("/a", page(302, 1_000, .stall(after: 1)))
    let fetcher = try patientFetcher()
    let id = try fetcher.start(origin.baseURL + "/a")
    try fetcher.run { fetcher.finished[id] != nil }
    #expect(fetcher.finished[id]?.body?.bytes == [9])
  }

  @Test(arguments: [404, 302])
  func `short pages cost no connection`(status: Int) throws {
    origin.serve("/a", page(status, 10_000))
    let fetcher = try Fetcher()
    for _ in 0..<5 { _ = try fetcher.fetch(origin.baseURL + "/a") }
    #expect(origin.totals().connectionsOpened == 1)
  }

  @Test func `a long page is not read`() throws {
    origin.serve("/a", page(404, 1 << 20))
    let transfer = try Fetcher().fetch(origin.baseURL + "/a")
    #expect(transfer.failure?.httpStatus == 404)
    #expect(transfer.bytesReceived == 0)
  }
}

@Suite(.timeLimit(.minutes(20))) struct UnusedBodiesTests {
  @Test func `bodies are due half a second after their heads, the oldest first`() {
    let bodies = UnusedBodies()
    let start = ContinuousClock.now
    let first = bodies.note(1, at: start)
    let second = bodies.note(2, at: start + .milliseconds(100))
    #expect(first == start + .milliseconds(500))
    #expect(bodies.nextDeadline == first)
    #expect(bodies.takeDue(at: first - .milliseconds(1)).isEmpty)
    #expect(bodies.takeDue(at: first).map(\.id) == [1])
    #expect(bodies.nextDeadline == second)
    #expect(bodies.takeDue(at: second).map(\.deadline) == [second])
    #expect(bodies.nextDeadline == nil)
  }
}
