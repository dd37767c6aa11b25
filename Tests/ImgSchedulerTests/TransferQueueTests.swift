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

@Suite struct CongestionWindowTests {
  private let begin = Instant.now
  private var window = CongestionWindow()

  /// Transfers that have run for 20 s time out, one of each of so many groups.
  ///
  /// - Returns: whether the last is taken for one that the line was too slow for.
  @discardableResult
  private mutating func timeOut(
    groups: Int, at seconds: Int, rate: Double? = 300, underWay: Int = 64, fastCount: Int = 0
  ) -> Bool {
    let now = begin + .seconds(seconds)
    var isOfLine = false
    for number in 0..<groups {
      isOfLine = window.noteTimeout(
        .init(
          group: "group\(number)", begunAt: now - .seconds(20), rate: rate, neededSeconds: 90),
        .init(maximum: 64, underWay: underWay, fastCount: fastCount), at: now)
    }
    return isOfLine
  }

  private mutating func end(_ count: Int, isFast: Bool, isFull: Bool = true, at seconds: Int) {
    for _ in 0..<count {
      window.noteEnd(isFast: isFast, isFull: isFull, upTo: 64, at: begin + .seconds(seconds))
    }
  }

  @Test mutating func `time-outs of three groups halve it, once for all that was under way`() {
    #expect(!timeOut(groups: 2, at: 20) && window.limit == nil)
    #expect(timeOut(groups: 3, at: 20) && window.limit == 32)
    #expect(timeOut(groups: 12, at: 22) && window.limit == 32, "begun before")
    #expect(timeOut(groups: 3, at: 41, underWay: 32) && window.limit == 16)
    #expect(window.limit(upTo: 8) == 8)
  }

  @Test mutating func `transfers that were not answered do not halve it`() {
    timeOut(groups: 12, at: 20, rate: nil)
    #expect(window.limit == nil)
    timeOut(groups: 3, at: 20)
    #expect(timeOut(groups: 1, at: 21, rate: nil), "but they may be its victims")
  }

  @Test mutating func `slow hosts do not halve it as long as more transfers are fast`() {
    end(20, isFast: true, at: 15)
    #expect(!timeOut(groups: 20, at: 20) && window.limit == nil)
    timeOut(groups: 3, at: 120)
    #expect(window.limit == 32, "those of long ago do not count")
  }

  @Test mutating func `transfers that are fast and not over count as well`() {
    #expect(!timeOut(groups: 8, at: 20, fastCount: 8) && window.limit == nil)
    #expect(timeOut(groups: 1, at: 20, fastCount: 8) && window.limit == 32)
  }

  @Test mutating func `it opens if transfers stall that have the whole line`() {
    for (seconds, size) in [(20, 64), (50, 32), (80, 16), (110, 8)] {
      timeOut(groups: 3, at: seconds, underWay: size)
      #expect(window.limit == size / 2)
    }
    timeOut(groups: 3, at: 140, rate: 4_000, underWay: 4)
    #expect(window.limit == CongestionWindow.minimum, "they do not stall, but are too long")
    #expect(!timeOut(groups: 3, at: 170, underWay: 4) && window.limit == nil)
    timeOut(groups: 12, at: 200)
    #expect(window.limit == nil, "for a while")
    timeOut(groups: 12, at: 170 + 601)
    #expect(window.limit == 32)
  }

  @Test
  mutating func
    `it tells what time is needed once transfers are cut off that share the whole line`()
  {
    timeOut(groups: 3, at: 20, rate: 4_000, underWay: 8)
    #expect(window.limit == 4 && window.neededSeconds == nil)
    timeOut(groups: 3, at: 50, rate: 4_000, underWay: 4)
    #expect(window.neededSeconds == nil)
    timeOut(groups: 3, at: 80, rate: 4_000, underWay: 4)
    #expect(window.neededSeconds == 90)
    end(3_000, isFast: false, at: 90)
    #expect(window.neededSeconds == nil)
  }

  @Test mutating func `it grows by one with each window of transfers that end well`() {
    timeOut(groups: 3, at: 20)
    end(100, isFast: false, isFull: false, at: 21)
    #expect(window.limit == 32, "it was not the limit")
    end(33, isFast: false, at: 22)
    #expect(window.limit == 33)
    end(2_000, isFast: false, at: 23)
    #expect(window.limit == nil)
  }

  @Test mutating func `it opens after ten minutes without a time-out`() {
    timeOut(groups: 3, at: 20)
    window.forget(at: begin + .seconds(620))
    #expect(window.limit == 32)
    window.forget(at: begin + .seconds(621))
    #expect(window.limit == nil)
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
