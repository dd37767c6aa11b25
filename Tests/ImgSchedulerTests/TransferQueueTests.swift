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
    of: Waiter(who: .viewer(ViewerID(rawValue: 1)), expiry: .standard), item: WorkID(rawValue: 2),
    respectsRobots: false)

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

@Suite struct HostIndexTests {
  private let now = Instant.now
  private var index = HostIndex()

  private let a = HostID(rawValue: 1)
  private let b = HostID(rawValue: 2)

  private func urgency(_ startTag: UInt64) -> Urgency {
    Urgency(priority: 0, startTag: startTag, item: WorkID(rawValue: startTag))
  }

  @Test mutating func `a host stands where it was put last`() {
    let place = HostIndex.Place(pace: .responsive, route: .direct, isRedirect: false)
    index.setStartable(a, urgency(2), place)
    index.setStartable(b, urgency(1), place)
    #expect(index.startable[.direct].first(.responsive)?.key == b)
    index.remove(b)
    #expect(index.startable[.direct].first(.responsive)?.key == a)
    #expect(index.startable[.direct].first(.unproven) == nil)
    index.setStartable(b, urgency(1), .init(pace: .slow, route: .proxied, isRedirect: false))
    #expect(index.startable[.proxied].first(.slow)?.key == b)
    index.setStartable(b, urgency(1), .init(pace: .slow, route: .direct, isRedirect: true))
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
}
