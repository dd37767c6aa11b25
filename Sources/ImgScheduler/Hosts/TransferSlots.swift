import ImgModel

/// The slots of the cluster for transfers.
///
/// A few slots are reserved for viewers and for hosts whose last transfer was soon over. Else many
/// slow hosts would hold all slots in the end, and the fast ones would be served at their pace.
struct TransferSlots {
  private var limit: Int
  /// Transfers of one host.
  private(set) var limitPerHost: Int
  private(set) var underWay = 0
  /// Of them, those at hosts that are not responsive.
  private var otherUnderWay = 0

  init(_ limits: Limits) {
    limit = limits.transfers
    limitPerHost = limits.transfersPerHost
  }

  /// From now on these limits hold; what is under way beyond them comes to its end.
  mutating func apply(_ limits: Limits) {
    limit = limits.transfers
    limitPerHost = limits.transfersPerHost
  }

  var isAnyFree: Bool { underWay < limit }

  /// Whether a slot is free for a host that is not responsive. Reserved are as many as one host may
  /// have, and at most an eighth; a viewer may have those too.
  func isAnyFreeForOther(_ urgency: Urgency) -> Bool {
    guard isAnyFree else { return false }
    return urgency.viewer > 0 || otherUnderWay < limit - min(limitPerHost, limit / 8)
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
