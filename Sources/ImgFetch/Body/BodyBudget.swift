/// How many bytes of memory, or of files, the bodies of one pool may take: those under way and
/// those handed out.
///
/// A body is charged before its buffer grows. A transfer whose body does not fit waits until
/// something is given back. No transfer overtakes an older one that waits, so small bodies do not
/// starve a large one. Lower numbers are older.
///
/// Half of the budget is reserved for the oldest under way. Many bodies would otherwise fill all of it, and
/// none could be finished. Two bodies never wait for each other: the oldest waits for bodies that are handed
/// out, which the caller gives back, and for nothing else. While none is handed out, the oldest is never
/// refused: the total may pass the budget by that one body, and by no more. When it ends, the next one is
/// the oldest.
final class BodyBudget {
  /// What all bodies are charged together.
  private(set) var heldByteCount = 0
  private let byteCount: Int
  private var handedOutByteCount = 0
  /// What each transfer under way is charged.
  private var charges: [UInt64: Int] = [:]
  /// The buffer that each refused transfer asked for.
  private var refusedSizes: [UInt64: Int] = [:]

  init(byteCount: Int) {
    self.byteCount = byteCount
  }

  /// Does nothing for a transfer that is charged already.
  func begin(_ id: UInt64) {
    if charges[id] == nil { charges[id] = 0 }
  }

  /// Charges a transfer under way with the difference, before its buffer grows. There has to be
  /// room for all of the new buffer, because the old one lives until its bytes are copied.
  /// - Returns: `false` when it has to wait until ``nextToResume()`` names it.
  func grow(_ id: UInt64, to byteCount: Int) -> Bool {
    guard permits(byteCount, to: id) else {
      refusedSizes[id] = byteCount
      return false
    }
    heldByteCount += byteCount - charges[id, default: 0]
    charges[id] = byteCount
    return true
  }

  /// The transfer is no longer under way.
  /// - Parameter isHandedOut: whether its body lives on until ``release(byteCount:)``.
  func end(_ id: UInt64, isHandedOut: Bool) {
    let charge = charges.removeValue(forKey: id) ?? 0
    refusedSizes[id] = nil
    if isHandedOut { handedOutByteCount += charge } else { heldByteCount -= charge }
  }

  /// A body that was handed out is freed.
  func release(byteCount: Int) {
    precondition(byteCount <= handedOutByteCount, "a body is given back twice")
    handedOutByteCount -= byteCount
    heldByteCount -= byteCount
  }

  /// Whether a transfer waits for room.
  func isWaiting(_ id: UInt64) -> Bool { refusedSizes[id] != nil }

  /// Whether transfers under way hold more than the bodies that are handed out. Who waits for room then,
  /// waits for origins.
  var isMostlyUnderWay: Bool { heldByteCount - handedOutByteCount > handedOutByteCount }

  /// The oldest transfer that waits, if what it asked for fits by now; it then waits no longer.
  func nextToResume() -> UInt64? {
    guard let next = refusedSizes.min(by: { $0.key < $1.key }),
      permits(next.value, to: next.key)
    else { return nil }
    refusedSizes[next.key] = nil
    return next.key
  }

  private func permits(_ byteCount: Int, to id: UInt64) -> Bool {
    if refusedSizes.keys.contains(where: { $0 < id }) { return false }
    guard let oldest = charges.min(by: { $0.key < $1.key }) else { return false }
    guard id == oldest.key else {
      return byteCount <= self.byteCount / 2 - (heldByteCount - oldest.value)
    }
    return handedOutByteCount == 0 || byteCount <= self.byteCount - heldByteCount
  }
}
