import Testing

@testable import ImgCoordinator

/// What clients cost, and which of them have to go.
@Suite struct ClientLedgerTests {
  private let start = ContinuousClock.now
  private var ledger = ClientLedger(
    clientMaximum: 3, timeout: .seconds(60), byteCountMaximum: 1_000)

  private mutating func update(
    _ client: UInt32, bytes: Int = 0, isOwing: Bool = false, isInUse: Bool = false,
    after time: Duration = .zero
  ) {
    ledger.update(
      client,
      ClientLedger.Account(heldByteCount: bytes, isOwing: isOwing, isInUse: isInUse),
      at: start + time)
  }

  @Test mutating func `the client that holds most goes when all together hold too much`() {
    update(1, bytes: 300)
    update(2, bytes: 500)
    update(3, bytes: 200)
    #expect(ledger.heaviest == nil)
    #expect(ledger.isTight)
    update(3, bytes: 201)
    #expect(ledger.heaviest == 2)
    ledger.remove(2)
    #expect(ledger.heldByteCount == 501)
    #expect(ledger.heaviest == nil)
  }

  @Test mutating func `what a client no longer holds does not count`() {
    update(1, bytes: 1_001)
    #expect(ledger.heaviest == 1)
    update(1, bytes: 10)
    #expect(ledger.heaviest == nil)
    #expect(!ledger.isTight)
    #expect(ledger.heldByteCount == 10)
  }

  @Test mutating func `a debt is due a timeout after it began, however often the client sends`() {
    update(1, isOwing: true)
    update(2, isOwing: true, after: .seconds(1))
    for second in 2..<60 { update(1, bytes: second, isOwing: true, after: .seconds(second)) }
    #expect(ledger.deadline == start + .seconds(60))
    #expect(ledger.overdue(at: start + .seconds(59)).isEmpty)
    #expect(ledger.overdue(at: start + .seconds(60)) == [1])
    #expect(ledger.overdue(at: start + .seconds(61)) == [1, 2])
  }

  @Test mutating func `a debt that is paid, and a client that has left, have no deadline`() {
    update(1, isOwing: true)
    update(1, after: .seconds(1))
    update(1, isOwing: true, after: .seconds(2))
    #expect(ledger.deadline == start + .seconds(62))
    ledger.remove(1)
    #expect(ledger.deadline == nil)
    #expect(ledger.overdue(at: start + .seconds(1_000)).isEmpty)
  }

  @Test mutating func `the client that has been idle for longest makes room, after the timeout`() {
    update(1, after: .seconds(5))
    update(2, isInUse: true)
    #expect(ledger.admission(at: start) == .admitted)
    update(3, after: .seconds(3))
    #expect(ledger.admission(at: start + .seconds(62)) == .full)
    #expect(ledger.admission(at: start + .seconds(63)) == .replacing(3))
    update(3, after: .seconds(63))
    #expect(ledger.admission(at: start + .seconds(64)) == .full)
    #expect(ledger.admission(at: start + .seconds(65)) == .replacing(1))
    ledger.remove(1)
    #expect(ledger.admission(at: start + .seconds(65)) == .admitted)
  }

  @Test mutating func `a client that waits or owes is never idle`() {
    update(1, isInUse: true)
    update(2, isOwing: true)
    update(3, isOwing: true, isInUse: true)
    #expect(ledger.admission(at: start + .seconds(1_000)) == .full)
  }
}
