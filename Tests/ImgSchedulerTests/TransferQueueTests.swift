import ImgModel
import Testing

@testable import ImgScheduler

@Suite struct TransferSlotsTests {
  private static func slots(_ transfers: Int, perHost: Int) -> TransferSlots {
    var limits = Limits()
    limits.transfers = transfers
    limits.transfersPerHost = perHost
    return TransferSlots(limits)
  }

  private let ofLine = Urgency(priority: 0, startTag: 1, item: WorkID(rawValue: 1))
  private let ofViewer = Urgency(
    of: Waiter(who: .viewer(ViewerID(rawValue: 1)), expiry: .standard), item: WorkID(rawValue: 2))

  @Test func `an eighth of the slots is reserved for responsive hosts and viewers`() {
    var slots = Self.slots(16, perHost: 8)
    for _ in 1...14 {
      #expect(slots.isAnyFree(for: .unproven, ofLine))
      slots.take(isResponsive: false)
    }
    #expect(!slots.isAnyFree(for: .unproven, ofLine))
    #expect(slots.isAnyFree(for: .unproven, ofViewer))
    #expect(!slots.isAnyFree(for: .slow, ofViewer), "not for what is slow")
    #expect(slots.shortage(for: .slow) == 1 && slots.shortage(for: .unproven) == 0)
    #expect(slots.isAnyFree)
    slots.take(isResponsive: true)
    slots.take(isResponsive: true)
    #expect(!slots.isAnyFree)
    #expect(!slots.isAnyFree(for: .unproven, ofViewer))
    slots.release(isResponsive: false)
    #expect(slots.underWay == 15)
    #expect(slots.isAnyFree(for: .unproven, ofLine))
  }

  @Test func `no more is reserved than one host may have`() {
    var slots = Self.slots(64, perHost: 2)
    for _ in 1...62 { slots.take(isResponsive: false) }
    #expect(!slots.isAnyFree(for: .unproven, ofLine))
    slots.reclassify(1, isResponsive: true)
    #expect(slots.isAnyFree(for: .unproven, ofLine))
    slots.reclassify(1, isResponsive: false)
    #expect(!slots.isAnyFree(for: .unproven, ofLine))
  }
}

@Suite struct HostTests {
  private let now = Instant.now
  private var host = Host("a", health: HostHealth(backoff: .seconds(1)))

  private func source(_ number: UInt64) -> SourceID { SourceID(rawValue: number) }
  private func urgency(_ startTag: UInt64) -> Urgency {
    Urgency(priority: 0, startTag: startTag, item: WorkID(rawValue: startTag))
  }

  @Test mutating func `its most urgent source starts first`() {
    host.insert(source(1), of: "http://a", urgency(2))
    host.insert(source(2), of: "http://a", urgency(1))
    #expect(host.mostUrgent(at: now) == urgency(1))
    #expect(host.urlCount == 2)
    #expect(host.start(at: now) == source(2))
    #expect(host.underWay == 1)
    host.remove(source(1))
    #expect(host.start(at: now) == nil)
    host.release(source(2), isRedirected: false)
    #expect(host.underWay == 0)
  }

  @Test mutating func `a redirect keeps another transfer from starting until it ends`() {
    host.insert(source(1), of: "http://a", urgency(1))
    _ = host.start(at: now)
    host.release(source(1), isRedirected: true)
    #expect(host.redirectingCount == 1)
    host.endRedirect()
    #expect(host.redirectingCount == 0)
  }

  @Test mutating func `each origin's robots.txt is probed once, until its transfer ends`() {
    host.insert(source(1), of: "http://a", urgency(1))
    _ = host.start(at: now)
    host.beginRobotsProbe(of: "http://a", by: source(1))
    #expect(host.robotsProbe == source(1))
    host.endRobotsProbe(source(2))
    #expect(host.robotsProbe == source(1))
    host.release(source(1), isRedirected: false)
    #expect(host.robotsProbe == nil)
    host.beginRobotsProbe(of: "http://a", by: source(2))
    #expect(host.robotsProbe == nil)
  }
}

@Suite struct HostIndexTests {
  private let now = Instant.now
  private var index = HostIndex()

  private let a = HostID(rawValue: 1)
  private let b = HostID(rawValue: 2)

  private func urgency(_ startTag: UInt64) -> Urgency {
    Urgency(priority: 0, startTag: startTag, item: WorkID(rawValue: startTag))
  }

  @Test mutating func `a host stands where it was put last`() {
    index.setStartable(a, urgency(2), .responsive, isRedirect: false)
    index.setStartable(b, urgency(1), .responsive, isRedirect: false)
    #expect(index.startable.first(.responsive)?.key == b)
    index.remove(b)
    #expect(index.startable.first(.responsive)?.key == a)
    #expect(index.startable.first(.unproven) == nil)
    index.setStartable(b, urgency(1), .slow, isRedirect: true)
    #expect(index.redirects.first(.slow)?.key == b)
  }

  @Test mutating func `hosts whose time has come are taken once`() {
    index.setCoolingDown(a, until: now + .seconds(2))
    #expect(index.setRemembered(b, until: now + .seconds(1)) == nil)
    #expect(index.deadline == now + .seconds(1))
    #expect(index.takeDue(at: now) == nil)
    #expect(index.takeDue(at: now + .seconds(2)) == a)
    #expect(index.takeDue(at: now + .seconds(2)) == b)
    #expect(index.takeDue(at: now + .seconds(2)) == nil)
    #expect(index.deadline == nil)
  }

  @Test mutating func `of too many remembered hosts the first to be forgotten is`() {
    for number in 1...HostIndex.rememberedMaximum {
      #expect(
        index.setRemembered(HostID(rawValue: UInt64(number)), until: now + .seconds(number)) == nil)
    }
    #expect(index.setRemembered(HostID(rawValue: 9_999), until: now + .seconds(9_999)) == a)
  }
}

@Suite struct TransferTableTests {
  private let now = Instant.now
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

@Suite struct LeaseTableTests {
  private let now = Instant.now
  private let item = WorkID(rawValue: 1)
  private let worker = WorkerID(rawValue: 1)
  private var leases = LeaseTable()

  @Test mutating func `leases are numbered from 1, and no number is used again`() {
    let first = leases.grant(.lookup, of: item, to: worker, at: now)
    #expect(leases.end(first, of: worker) != nil)
    let second = leases.grant(.lookup, of: item, to: worker, at: now)
    #expect([first.rawValue, second.rawValue] == [1, 2])
    #expect(leases.count == 1)
  }

  @Test mutating func `a lease has an item, a worker and the time it entered its stage`() throws {
    let id = leases.grant(.lookup, of: item, to: worker, at: now)
    let lease = try #require(leases[id])
    #expect(lease.item == item)
    #expect(lease.worker == worker)
    #expect(lease.since == now)
    leases.enterStage(id, at: now + .seconds(1))
    #expect(leases[id]?.since == now + .seconds(1))
  }

  @Test mutating func `a lease that begins a transfer names it, and others are attached`() {
    let first = leases.grant(nil, of: item, to: worker, at: now)
    let transfer = TransferID(startedBy: first)
    let second = leases.grant(
      .transfer(transfer), of: WorkID(rawValue: 2), to: worker, at: now + .seconds(1))
    let lookup = leases.grant(.lookup, of: WorkID(rawValue: 3), to: worker, at: now)
    let decode = leases.grant(.decode, of: WorkID(rawValue: 4), to: worker, at: now)
    #expect(leases[first]?.transfer == transfer)
    #expect(leases[second]?.transfer == transfer)
    #expect(leases[lookup]?.purpose == .lookup)
    #expect(leases[decode]?.purpose == .decode)
    #expect(leases[decode]?.transfer == nil)
    #expect(leases.oldestSince(of: [second, first]) == now)
    #expect(leases.oldestSince(of: [second]) == now + .seconds(1))
    #expect(leases.oldestSince(of: []) == nil)
  }

  @Test mutating func `an answer of another worker, or a second one, is late`() {
    let id = leases.grant(.lookup, of: item, to: worker, at: now)
    #expect(leases.end(id, of: WorkerID(rawValue: 2)) == nil)
    #expect(leases.lateAnswerCount == 1)
    #expect(leases.end(id, of: worker)?.item == item)
    #expect(leases.isEmpty)
    #expect(leases.end(id, of: worker) == nil)
    #expect(leases.lateAnswerCount == 2)
  }

  @Test mutating func `a look-up that takes too long is returned once`() {
    let ids = (1...3).map { leases.grant(.lookup, of: WorkID(rawValue: $0), to: worker, at: now) }
    for (index, id) in ids.enumerated() {
      leases.setLookupDeadline(now + .seconds(index + 1), of: id)
    }
    #expect(leases.lookupDeadline == now + .seconds(1))
    // It has answered before its deadline.
    #expect(leases.end(ids[0], of: worker) != nil)
    #expect(leases.takeOverdueLookups(at: now + .seconds(2)).map(\.item.rawValue) == [2])
    #expect(leases.takeOverdueLookups(at: now + .seconds(2)).isEmpty)
    #expect(leases.lookupDeadline == now + .seconds(3))
    #expect(leases.count == 2, "they still run")
  }
}
