import ImgModel
import Testing

@testable import ImgScheduler

@Suite struct TransferTableTests {
  private let now = ContinuousClock.now
  private var transfers = TransferTable()

  private func lease(_ number: UInt64) -> LeaseID { LeaseID(rawValue: number) }

  private mutating func begin(_ number: UInt64) -> TransferID {
    transfers.begin(
      of: SourceID(rawValue: 1), by: WorkerID(rawValue: 1), host: "a", origin: "http://a",
      lease: lease(number))
  }

  @Test mutating func `a transfer holds a slot until its last byte is in`() {
    let id = begin(1)
    #expect(transfers[id]?.holdsSlot == true)
    transfers.end(id)
    #expect(transfers[id]?.holdsSlot == false)
    #expect(transfers[id]?.state == .ended)
  }

  @Test mutating func `the last lease ends the transfer, which is returned as it was`() {
    let id = begin(1)
    transfers.attach(lease(2), to: id)
    #expect(transfers.detach(lease(1), from: id) == nil)
    #expect(transfers[id]?.leases == [lease(2)])
    #expect(transfers.detach(lease(2), from: id)?.state == .receiving)
    #expect(transfers.isEmpty)
  }

  @Test mutating func `a redirected transfer waits at the new host and remembers the old one`() {
    let id = begin(1)
    transfers.redirect(id, to: "b", origin: "http://b", until: now + .seconds(1))
    #expect(transfers[id]?.host == "b")
    #expect(transfers[id]?.redirectingHost == "a")
    #expect(transfers[id]?.isWaitingAfterRedirect == true)
    #expect(transfers[id]?.holdsSlot == false)
    let (transfer, redirectingHost) = transfers.resume(id)
    #expect(redirectingHost == "a")
    #expect(transfer.host == "b")
    #expect(transfers[id]?.holdsSlot == true)
    #expect(transfers[id]?.redirectingHost == nil)
    #expect(transfers.redirectDeadline == nil)
  }

  @Test mutating func `a redirected transfer that waits too long is found, and refused once`() {
    let id = begin(1)
    transfers.redirect(id, to: "b", origin: "http://b", until: now + .seconds(1))
    #expect(transfers.overdueRedirect(at: now) == nil)
    #expect(transfers.overdueRedirect(at: now + .seconds(1)) == id)
    let failure = Failure(stage: .fetch, code: .timeout, detail: "")
    #expect(transfers.refuse(id, because: failure).leases == [lease(1)])
    #expect(transfers[id]?.refusal == failure)
    #expect(transfers[id]?.isWaitingAfterRedirect == false)
    #expect(transfers[id]?.redirectingHost == "a", "which starts no other in its place")
    #expect(transfers.overdueRedirect(at: now + .seconds(1)) == nil)
  }

  @Test mutating func `a failure counts for the host once, and again at the next host`() {
    let id = begin(1)
    #expect(transfers.noteHealth(of: id) == true)
    #expect(transfers.noteHealth(of: id) == false)
    transfers.redirect(id, to: "b", origin: "http://b", until: now)
    _ = transfers.resume(id)
    #expect(transfers.noteHealth(of: id) == true)
  }
}
