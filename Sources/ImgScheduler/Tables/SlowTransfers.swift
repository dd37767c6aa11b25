import ImgModel
import ImgWire

/// The transfers that are slow, as their workers report it, by the groups of their hosts.
///
/// A slow transfer costs an origin next to nothing, and holds its slot for as long as
/// `--transfer-timeout`. So it gives its slot of the cluster up for viewers and goes on *aside*; its slot at
/// its host stays taken. So many may be aside as a coordinator has memory and descriptors for. Beyond that,
/// the group with the most slow transfers loses its oldest one, if the group that needs room has none or, with
/// one more, still has fewer: a group gets at most the share that the others leave it, whatever hosts and clients
/// it has, and two groups do not take room from each other by turns.
struct SlowTransfers {
  /// What a transfer holds that was slow.
  enum Holding {
    /// Its slot of the cluster.
    case slot
    /// None: it gave its slot up.
    case aside
  }

  private struct Entry {
    let host: String
    let group: String
  }

  private var entries: [TransferID: Entry] = [:]
  /// The transfers of each group, the oldest first.
  private var groups: [String: PriorityQueue<TransferID, UInt64>] = [:]
  /// Those that hold slots, the oldest first.
  private var withSlots = PriorityQueue<TransferID, UInt64>()
  private var aside: Set<TransferID> = []
  /// Those aside that are being ended. They are slow no more.
  private var ending: Set<TransferID> = []
  /// Counts up with each transfer that turns slow.
  private var lastNumber: UInt64 = 0

  /// Transfers under way that hold no slot of the cluster.
  var asideCount: Int { aside.count + ending.count }
  var count: Int { entries.count }
  /// Slow transfers that hold slots.
  var slotCount: Int { withSlots.count }

  func contains(_ id: TransferID) -> Bool { entries[id] != nil }
  /// The host of a slow transfer.
  func host(of id: TransferID) -> String? { entries[id]?.host }
  func holdsSlot(_ id: TransferID) -> Bool { entries[id] != nil && !aside.contains(id) }
  /// Whether one of the group's transfers is slow.
  func isSlow(_ group: String) -> Bool { groups[group] != nil }

  /// Whether so many more can go aside for a host of a group, some of them in place of others.
  func hasRoom(for group: String, count: Int, upTo maximum: Int) -> Bool {
    let ofGroup = groups[group]?.count ?? 0
    return aside.count + count <= maximum
      || ofGroup + (ofGroup > 0 ? 1 : 0) < groups.values.lazy.map(\.count).max() ?? 0
  }

  /// A transfer that holds a slot has turned slow.
  ///
  /// - Precondition: it was not slow.
  mutating func add(_ id: TransferID, host: String, group: String) {
    precondition(entries[id] == nil, "\(id) turns slow twice")
    lastNumber += 1
    entries[id] = Entry(host: host, group: group)
    groups[group, default: PriorityQueue()].set(id, to: lastNumber)
    withSlots.set(id, to: lastNumber)
  }

  /// The transfer is slow no more, or over.
  ///
  /// - Returns: what it holds.
  mutating func remove(_ id: TransferID) -> Holding {
    // Mostly none is slow.
    guard !entries.isEmpty || asideCount > 0 else { return .slot }
    forget(id)
    let isAside = aside.remove(id) != nil || ending.remove(id) != nil
    return isAside ? .aside : .slot
  }

  /// Whether fewer are aside than may be.
  func takesAside(upTo maximum: Int) -> Bool { aside.count < maximum }

  /// A slow transfer gives its slot up.
  ///
  /// - Precondition: it holds one.
  mutating func stepAside(_ id: TransferID) {
    precondition(entries[id] != nil && !aside.contains(id), "\(id) holds no slot, or is not slow")
    withSlots.remove(id)
    aside.insert(id)
  }

  /// The slow transfer that has held its slot for longest.
  var nextWithSlot: TransferID? { withSlots.first?.key }

  /// The oldest slow transfer of the group that has most; among equals, of the one whose oldest is oldest.
  var oldestOfLargestGroup: TransferID? {
    groups.values.compactMap { group in group.first.map { (group.count, $0) } }
      .max { ($0.0, $1.1.priority) < ($1.0, $0.1.priority) }?.1.key
  }

  /// A slow transfer that gave its slot up is being ended, in favour of others.
  ///
  /// - Precondition: it is aside.
  mutating func end(_ id: TransferID) {
    precondition(aside.remove(id) != nil, "\(id) holds a slot")
    forget(id)
    ending.insert(id)
  }

  private mutating func forget(_ id: TransferID) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    withSlots.remove(id)
    groups[entry.group]?.remove(id)
    if groups[entry.group]?.isEmpty == true { groups[entry.group] = nil }
  }
}

/// Transfers that are slow, see ``SlowTransfers``.
extension Scheduler {
  /// A worker tells which of its transfers have turned slow, and which are slow no more.
  mutating func noteSlowTransfers(_ updates: HostUpdates, by worker: WorkerID) {
    for id in updates.slow {
      guard let transfer = fetches.receiving(id, by: worker) else { continue }
      let isForViewer = transfer.leases.contains { lease in
        fetches.leases[lease].flatMap { work[$0.item] }?.waiters.contains { $0.viewer != nil }
          == true
      }
      workers.setSlow(true, id, of: worker)
      fetches.queue.turnedSlow(
        id, host: transfer.host, isForViewer: isForViewer, at: now.instant)
    }
    for id in updates.fast {
      guard let transfer = fetches.receiving(id, by: worker) else { continue }
      noteNetwork(.answer, of: id)
      workers.setSlow(false, id, of: worker)
      fetches.queue.turnedFast(id, host: transfer.host, at: now.instant)
    }
  }

  /// A transfer has failed in a way for which a slow line can be the reason.
  ///
  /// - Parameters:
  ///   - byteCount: that have come.
  ///   - since: when it began.
  /// - Returns: what that means for its URL; `nil` if the line is not the reason, as far as is known.
  mutating func verdictOnSlowLine(
    _ id: TransferID, because failure: Failure, byteCount: Int, since: Instant
  ) -> RetryVerdict? {
    guard let transfer = fetches.transfers[id] else { return nil }
    let time = max(now.instant - since, .milliseconds(1))
    let isAnswered = failure.httpStatus != nil || byteCount > 0
    let timeout = CongestionWindow.Timeout(
      group: HostGroup.name(of: transfer.host), begunAt: since,
      rate: isAnswered ? Double(byteCount) / (time / .seconds(1)) : nil,
      neededSeconds: Failure.neededSeconds(in: failure.detail))
    let isInVain = timeout.isCutOff && byteCount < ResumeState.minimumByteCount
    switch fetches.repeatAfterTimeout(
      id, because: failure, timeout, isInVain: isInVain, at: now.instant)
    {
    case nil: return nil
    case true?:
      postponeLines(of: transfer.source)
      return .retried
    // The host has answered, and sent what it could.
    case false?:
      return isInVain ? retryVerdict(on: id, because: failure) : nil
    }
  }

  /// The attempt of a source is repeated because the line is slow: its lines go behind those of their jobs that are at
  /// hand, so that each line has its turn, and later ones are taken up beside it.
  private mutating func postponeLines(of id: SourceID) {
    guard let source = fetches.sources[id] else { return }
    for item in source.members {
      jobs.postponeLines(at: item, isFirst: source.repeatCount == 1, in: &work)
    }
  }
}

/// The slots of the cluster for transfers.
///
/// A few slots are reserved for viewers and for hosts whose last transfer was soon over. Else many
/// slow hosts would hold all slots in the end, and the fast ones would be served at their pace. Viewers of
/// hosts that are slow do not take them either.
struct TransferSlots {
  /// Without a slow line.
  private var maximum: Int
  private(set) var congestion = CongestionWindow()
  /// Transfers of one host.
  private var limitPerHost: Int
  /// Whether limits of bandwidth may hold transfers for long.
  private var isBandwidthLimited: Bool
  /// Slow transfers that go on without slots (see ``SlowTransfers``).
  private(set) var asideMaximum: Int
  private(set) var underWay = 0
  /// Of them, those at hosts that are not responsive.
  private var otherUnderWay = 0

  init(_ limits: Limits) {
    maximum = limits.transfers
    limitPerHost = limits.transfersPerHost
    isBandwidthLimited = limits.isBandwidthLimited
    asideMaximum = limits.slowTransfers
  }

  /// From now on these limits hold; what is under way beyond them comes to its end.
  mutating func apply(_ limits: Limits) {
    maximum = limits.transfers
    limitPerHost = limits.transfersPerHost
    isBandwidthLimited = limits.isBandwidthLimited
    asideMaximum = limits.slowTransfers
  }

  private var limit: Int { congestion.limit(upTo: maximum) }

  var isAnyFree: Bool { underWay < limit }

  /// Whether a slot is free for a host of a pace. Reserved are as many as one host may have, and at most an
  /// eighth; a viewer may have those too, unless the host is slow.
  func isAnyFree(for pace: HostPace, _ urgency: Urgency) -> Bool {
    guard isAnyFree else { return false }
    let mayTakeReserve = pace == .responsive || (pace == .unproven && urgency.viewer > 0)
    return mayTakeReserve || otherUnderWay < otherLimit
  }

  /// Transfers of one host. Where bandwidth is limited, the last slot is for viewers: they would wait for long until one
  /// of a list is free.
  func limitPerHost(isForViewer: Bool) -> Int {
    isBandwidthLimited && !isForViewer ? max(limitPerHost - 1, 1) : limitPerHost
  }

  /// Slots for hosts that are not responsive.
  private var otherLimit: Int { limit - min(limitPerHost, limit / 8) }

  /// How many slots at hosts that are not responsive have to be given up until one is free for a viewer of a
  /// host of a pace; zero where one is free.
  func shortage(for pace: HostPace) -> Int {
    let missing = max(0, underWay + 1 - limit)
    return pace == .slow ? max(missing, otherUnderWay + 1 - otherLimit) : missing
  }

  mutating func take(isResponsive: Bool) {
    underWay += 1
    if !isResponsive { otherUnderWay += 1 }
  }

  /// - Precondition: one was taken for such a host.
  mutating func release(isResponsive: Bool) {
    underWay -= 1
    if !isResponsive { otherUnderWay -= 1 }
    precondition(
      otherUnderWay >= 0 && underWay >= otherUnderWay, "a slot is given back that was not taken")
  }

  /// A host with transfers under way has become responsive, or ceased to be.
  mutating func reclassify(_ count: Int, isResponsive: Bool) {
    otherUnderWay += isResponsive ? -count : count
  }

  /// See ``CongestionWindow/noteTimeout(_:_:at:)``.
  ///
  /// - Parameters:
  ///   - underWay: all transfers, those without slots too.
  ///   - slowCount: the slow ones of them.
  mutating func noteTimeout(
    _ timeout: CongestionWindow.Timeout, underWay: Int, slowCount: Int, at now: Instant
  ) -> Bool {
    let load = CongestionWindow.Load(
      maximum: maximum, underWay: underWay, fastCount: underWay - slowCount)
    return congestion.noteTimeout(timeout, load, at: now)
  }

  /// A transfer with a slot has ended well.
  mutating func noteEnd(isFast: Bool, at now: Instant) {
    congestion.noteEnd(isFast: isFast, isFull: !isAnyFree, upTo: maximum, at: now)
  }

  mutating func forgetCongestion(at now: Instant) { congestion.forget(at: now) }
}

/// How many transfers may be under way at once on a line that is too slow for more: the congestion window of
/// RFC 5681, which counts transfers in place of segments.
///
/// All transfers share the line of this machine. Where each gets so little that it times out, fewer are as fast
/// together, and end well. The window halves if transfers from several groups of hosts time out in the middle of
/// their answers, and grows by one with each window of transfers that end well:
///
///     open ── time-outs of several groups, more than there are fast transfers ──► half of what is under way
///      ▲                                                                           │       ▲
///      └── grown to the limit, or no time-out for a while ─────────────────────────┤       │ time-outs of several
///      └── transfers stall that have the whole line (for a while nothing counts) ──┘       └─ groups since then
///
/// A few slow hosts are not a slow line: others are fast meanwhile. Where slow hosts are alone, the window shrinks
/// until so few transfers share the line that it cannot be the reason.
struct CongestionWindow: Equatable {
  /// A transfer that has timed out, or whose resolver has.
  struct Timeout {
    let group: String
    let begunAt: Instant
    /// Bytes a second; `nil` if nothing was answered.
    let rate: Double?
    /// The `--transfer-timeout` that it would have needed; `nil` if that is not known.
    var neededSeconds: Int?

    /// Whether its bytes came all the time.
    var isCutOff: Bool { rate.map { $0 >= CongestionWindow.stalledRate } ?? false }
  }

  /// What was under way when it did.
  struct Load {
    let maximum: Int
    let underWay: Int
    /// Those that were not slow.
    let fastCount: Int
  }

  /// What was seen in some time.
  private struct Span: Equatable {
    let start: Instant
    /// The groups whose transfers have timed out, and those of them that have stalled.
    var groups: Set<String> = []
    var stalledGroups: Set<String> = []
    var timeoutCount = 0
    /// Transfers that ended well and were not slow.
    var fastCount = 0
  }

  /// `nil` while the line is not known to be slow.
  private var size: Double?
  private var changedAt: Instant?
  private var timedOutAt: Instant?
  /// Until when no time-out counts.
  private var ignoredUntil: Instant?
  private var spans: [Span] = []
  /// Transfers whose time was over while their bytes came, although so few share the line that fewer do not help.
  private var cutOffCount = 0
  private var longestNeededSeconds: Int?

  /// So many groups of hosts do not become slow together by chance.
  static let groupCount = NetworkHealth.groupCount
  /// So few transfers do not stall because of each other on any line that is of use.
  static let minimum = 4
  /// A transfer below this rate stalls, as libcurl is told.
  static let stalledRate = 1_024.0
  /// Transfers that begin together time out within this time. What was seen is forgotten after twice as long.
  static let spanLength = Duration.seconds(30)
  /// After so long without a time-out the line is taken for another one.
  static let memory = Duration.seconds(600)

  init() {}

  /// How many transfers may be under way at once; `nil` for as many as without a slow line.
  var limit: Int? { size.map { Int($0) } }

  /// The `--transfer-timeout` that pictures need which are fetched in vain; `nil` if there are hardly any.
  var neededSeconds: Int? { cutOffCount >= Self.minimum ? longestNeededSeconds : nil }

  func limit(upTo maximum: Int) -> Int { min(limit ?? maximum, maximum) }

  /// - Returns: whether the line is the reason, as far as is known.
  mutating func noteTimeout(_ timeout: Timeout, _ load: Load, at now: Instant) -> Bool {
    if let ignoredUntil, now < ignoredUntil { return false }
    timedOutAt = now
    // What was under way when the window halved says nothing of the time since.
    if let changedAt, timeout.begunAt < changedAt { return size != nil }
    if timeout.isCutOff, limit.map({ $0 <= Self.minimum }) ?? false {
      cutOffCount += 1
      longestNeededSeconds = [longestNeededSeconds, timeout.neededSeconds].compactMap(\.self).max()
    }
    var span = takeSpan(at: now)
    if let rate = timeout.rate {
      span.timeoutCount += 1
      span.groups.insert(timeout.group)
      if rate < Self.stalledRate { span.stalledGroups.insert(timeout.group) }
    }
    spans.append(span)
    let fastCount = spans.reduce(load.fastCount) { $0 + $1.fastCount }
    let timeoutCount = spans.reduce(timeout.rate == nil ? 1 : 0) { $0 + $1.timeoutCount }
    guard timeoutCount > fastCount else { return false }
    if count(\.groups) >= Self.groupCount { shrink(load, at: now) }
    return size != nil
  }

  private func count(_ groups: KeyPath<Span, Set<String>>) -> Int {
    spans.reduce(into: Set()) { $0.formUnion($1[keyPath: groups]) }.count
  }

  private mutating func shrink(_ load: Load, at now: Instant) {
    let current = min(limit(upTo: load.maximum), load.underWay)
    if current <= Self.minimum, count(\.stalledGroups) >= Self.groupCount {
      if size != nil { ignoredUntil = now + Self.memory }
      open()
    } else {
      size = Double(max(current / 2, min(Self.minimum, load.maximum)))
    }
    changedAt = now
    spans = []
  }

  /// A transfer has ended well.
  ///
  /// - Parameters:
  ///   - isFast: whether it was not slow.
  ///   - isFull: whether no other could begin beside it.
  ///   - maximum: without a slow line.
  mutating func noteEnd(isFast: Bool, isFull: Bool, upTo maximum: Int, at now: Instant) {
    if isFast {
      var span = takeSpan(at: now)
      span.fastCount += 1
      spans.append(span)
    }
    guard let size, isFull else { return }
    let grown = size + 1 / size
    if grown < Double(maximum) { self.size = grown } else { open() }
  }

  private mutating func open() {
    size = nil
    (cutOffCount, longestNeededSeconds) = (0, nil)
  }

  /// Takes the span of a moment. Of the earlier ones the last remains, if it has just ended.
  private mutating func takeSpan(at now: Instant) -> Span {
    spans.removeAll { now - $0.start > Self.spanLength * 2 }
    if let last = spans.last, now - last.start <= Self.spanLength { return spans.removeLast() }
    return Span(start: now)
  }

  /// Opens the window if there was no time-out for long.
  mutating func forget(at now: Instant) {
    if let timedOutAt, now - timedOutAt > Self.memory { self = CongestionWindow() }
  }
}
