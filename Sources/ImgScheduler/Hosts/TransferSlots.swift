import ImgModel

/// The slots of the cluster for transfers.
///
/// A few slots are reserved for viewers and for hosts whose last transfer was soon over. Else many
/// slow hosts would hold all slots in the end, and the fast ones would be served at their pace. Viewers of
/// hosts that are slow do not take them either.
struct TransferSlots {
  private var limit: Int
  /// Transfers of one host.
  private(set) var limitPerHost: Int
  /// Slow transfers that go on without slots (see ``SlowTransfers``).
  private(set) var asideMaximum: Int
  private(set) var underWay = 0
  /// Of them, those at hosts that are not responsive.
  private var otherUnderWay = 0

  init(_ limits: Limits) {
    limit = limits.transfers
    limitPerHost = limits.transfersPerHost
    asideMaximum = limits.slowTransfers
  }

  /// From now on these limits hold; what is under way beyond them comes to its end.
  mutating func apply(_ limits: Limits) {
    limit = limits.transfers
    limitPerHost = limits.transfersPerHost
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

/// What the transfers of a host have shown of its pace.
enum HostPace: CaseIterable {
  /// The last one was soon over.
  case responsive
  /// Nothing, or that the last one took its time.
  case unproven
  /// One of its group is slow right now.
  case slow
}
