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
      workers.setSlow(false, id, of: worker)
      fetches.queue.turnedFast(id, host: transfer.host, at: now.instant)
    }
  }
}

/// The slots of the cluster for transfers.
///
/// A few slots are reserved for viewers and for hosts whose last transfer was soon over. Else many
/// slow hosts would hold all slots in the end, and the fast ones would be served at their pace. Viewers of
/// hosts that are slow do not take them either.
struct TransferSlots {
  private var limit: Int
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
    limit = limits.transfers
    limitPerHost = limits.transfersPerHost
    isBandwidthLimited = limits.isBandwidthLimited
    asideMaximum = limits.slowTransfers
  }

  /// From now on these limits hold; what is under way beyond them comes to its end.
  mutating func apply(_ limits: Limits) {
    limit = limits.transfers
    limitPerHost = limits.transfersPerHost
    isBandwidthLimited = limits.isBandwidthLimited
    asideMaximum = limits.slowTransfers
  }

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
}
