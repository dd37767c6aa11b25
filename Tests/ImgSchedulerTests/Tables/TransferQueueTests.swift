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
  private let now = ContinuousClock.now
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
  private let now = ContinuousClock.now
  private var index = HostIndex()

  private func urgency(_ startTag: UInt64) -> Urgency {
    Urgency(priority: 0, startTag: startTag, item: WorkID(rawValue: startTag))
  }

  @Test mutating func `a host stands where it was put last`() {
    index.setStartable("a", urgency(2), .responsive, isRedirect: false)
    index.setStartable("b", urgency(1), .responsive, isRedirect: false)
    #expect(index.startable[.responsive]?.first?.key == "b")
    index.remove("b")
    #expect(index.startable[.responsive]?.first?.key == "a")
    #expect(index.startable[.unproven] == nil)
    index.setStartable("b", urgency(1), .slow, isRedirect: true)
    #expect(index.redirects[.slow]?.first?.key == "b")
  }

  @Test mutating func `hosts whose time has come are taken once`() {
    index.setCoolingDown("a", until: now + .seconds(2))
    #expect(index.setRemembered("b", until: now + .seconds(1)) == nil)
    #expect(index.deadline == now + .seconds(1))
    #expect(index.takeDue(at: now) == nil)
    #expect(index.takeDue(at: now + .seconds(2)) == "a")
    #expect(index.takeDue(at: now + .seconds(2)) == "b")
    #expect(index.takeDue(at: now + .seconds(2)) == nil)
    #expect(index.deadline == nil)
  }

  @Test mutating func `of too many remembered hosts the first to be forgotten is`() {
    for number in 1...HostIndex.rememberedMaximum {
      #expect(index.setRemembered("\(number)", until: now + .seconds(number)) == nil)
    }
    #expect(index.setRemembered("last", until: now + .seconds(9_999)) == "1")
  }
}
