import ImgModel
import ImgWire
import Testing

@testable import ImgWorkerMachine

/// Which lease is attached to which transfer, and what becomes of transfers and bodies.
struct SharedTransfersTests {
  private static let key = TransferKey(
    name: PictureName(text: TestDriver.url), part: .whole)
  private static let other = TransferKey(name: PictureName(text: "other"), part: .whole)
  private static let body = SharedTransfer.Body(
    facts: .sample, freshByteCount: 30, timings: Timings(), wasRedirected: false)

  private var transfers = SharedTransfers()

  private mutating func start(_ lease: LeaseID, _ request: ThumbnailRequest = .sample) throws {
    let order = try FetchOrder(
      Assignment(lease: lease, url: TestDriver.url),
      of: TestDriver.batch([lease], TestDriver.url, request), at: .now)
    #expect(transfers.start(order) == TransferID(startedBy: lease))
  }

  // MARK: - Shares

  @Test mutating func `every lease of a transfer gets a share of its one body`() throws {
    try start(1)
    #expect(transfers.attach(2, key: Self.key).isReceiving)
    #expect(transfers.attach(3, key: Self.key).isReceiving)
    let shares = transfers.receive(Self.body, by: 1)
    #expect(shares.map(\.lease) == [1, 2, 3])
    #expect(shares.map(\.bytesFetched) == [30, 0, 0])
  }

  @Test mutating func `a lease that attaches to a held body gets its share at once`() throws {
    try start(1)
    _ = transfers.receive(Self.body, by: 1)
    let share = transfers.attach(2, key: Self.key).share
    #expect(share?.lease == 2)
    #expect(share?.bytesFetched == 0)
    #expect(transfers.transfer(of: 2) == 1)
  }

  @Test mutating func `the first of the leases that stay counts the bytes`() throws {
    try start(1)
    _ = transfers.attach(2, key: Self.key)
    #expect(transfers.leave(1) == nil)
    #expect(transfers.receive(Self.body, by: 1).map(\.bytesFetched) == [30])
  }

  @Test(arguments: [(false, true), (true, false)])
  mutating func `a body behind a redirect is unchecked unless its transfer respects robots`(
    respectsRobots: Bool, isUnchecked: Bool
  ) throws {
    try start(1, .sample(respectsRobots: respectsRobots))
    let body = SharedTransfer.Body(
      facts: .sample, freshByteCount: 30, timings: Timings(), wasRedirected: true)
    #expect(transfers.receive(body, by: 1).map(\.isUnchecked) == [isUnchecked])
  }

  // MARK: - Attaching

  @Test mutating func `a lease without a transfer of its name attaches to none`() throws {
    try start(1)
    #expect(transfers.attach(2, key: Self.other).isNone)
    #expect(!transfers.hasTransfer(for: Self.other))
  }

  @Test mutating func `a lease that needs another part of the picture attaches to none`() throws {
    try start(1, .sample(keep: .facts))
    #expect(transfers.attach(2, key: Self.key).isNone)
    let facts = TransferKey(name: PictureName(text: TestDriver.url), part: .facts)
    #expect(transfers.attach(3, key: facts).isReceiving)
  }

  @Test mutating func `a lease attaches to the newest transfer of its name`() throws {
    try start(1)
    try start(2)
    #expect(transfers.attach(3, key: Self.key).isReceiving)
    #expect(transfers.receive(Self.body, by: 1).map(\.lease) == [1])
    #expect(transfers.receive(Self.body, by: 2).map(\.lease) == [2, 3])
  }

  @Test mutating func `a lease attaches to an older transfer once the newest is over`() throws {
    try start(1)
    try start(2)
    #expect(transfers.end(2) == [2])
    #expect(transfers.attach(3, key: Self.key).isReceiving)
    #expect(transfers.receive(Self.body, by: 1).map(\.lease) == [1, 3])
  }

  // MARK: - The end of a body

  @Test mutating func `a body is free once, after its last lease`() throws {
    try start(1)
    _ = transfers.attach(2, key: Self.key)
    _ = transfers.receive(Self.body, by: 1)
    #expect(transfers.detach(1) == nil)
    _ = transfers.attach(3, key: Self.key)
    #expect(transfers.detach(2) == nil)
    #expect(transfers.detach(3) == 1)
    #expect(transfers.detach(3) == nil)
    #expect(!transfers.contains(1))
    #expect(transfers.attach(4, key: Self.key).isNone)
  }

  @Test mutating func `each of two transfers of a name frees its own body`() throws {
    try start(1)
    try start(2)
    _ = transfers.receive(Self.body, by: 1)
    _ = transfers.receive(Self.body, by: 2)
    #expect(transfers.detach(1) == 1)
    #expect(transfers.attach(3, key: Self.key).share != nil)
    #expect(transfers.detach(2) == nil)
    #expect(transfers.detach(3) == 2)
  }

  @Test mutating func `a body waits to be stored until a lease has stored it`() throws {
    try start(1)
    #expect(transfers.bodyToStore(of: 1) == nil)
    _ = transfers.receive(Self.body, by: 1)
    #expect(transfers.bodyToStore(of: 1) == 1)
    transfers.bodyStored(by: 1)
    #expect(transfers.bodyToStore(of: 1) == nil)
    #expect(transfers.bodyToStore(of: 9) == nil)
  }

  // MARK: - Failures and leases that leave

  @Test mutating func `a transfer's failure ends every lease of it that has not left`() throws {
    try start(1)
    _ = transfers.attach(2, key: Self.key)
    _ = transfers.attach(3, key: Self.key)
    #expect(transfers.leave(1) == nil)
    #expect(transfers.end(1) == [2, 3])
    #expect(transfers.attach(4, key: Self.key).isNone)
    #expect(transfers.detach(2) == nil)
  }

  @Test mutating func `a transfer is over when its last lease leaves, whichever it is`() throws {
    try start(1)
    _ = transfers.attach(2, key: Self.key)
    #expect(transfers.leave(1) == nil)
    #expect(transfers.leave(2) == 1)
    #expect(!transfers.contains(1))
  }

  // MARK: - Slots

  @Test mutating func `a redirect that waits for a slot is taken once`() throws {
    try start(1)
    let redirect = Redirect(url: try ImageURL(parsing: "http://b.example/"), leavesHost: true)
    #expect(transfers.takeSlotWait(1, at: .now) == nil)
    transfers.waitForSlot(1, redirect, since: .now)
    #expect(transfers.takeSlotWait(1, at: .now)?.redirect == redirect)
    #expect(transfers.takeSlotWait(1, at: .now) == nil)
    #expect(transfers.takeSlotWait(9, at: .now) == nil)
  }
}

extension SharedTransfers.AttachResult {
  fileprivate var isReceiving: Bool {
    if case .receiving = self { true } else { false }
  }

  fileprivate var isNone: Bool {
    if case .none = self { true } else { false }
  }

  fileprivate var share: SharedTransfer.Share? {
    if case .received(let share) = self { share } else { nil }
  }
}
