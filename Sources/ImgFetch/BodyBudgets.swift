internal import ImgModel
internal import ImgSystem

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
  private var charges: [TransferID: Int] = [:]
  /// The buffer that each refused transfer asked for.
  private var refusedSizes: [TransferID: Int] = [:]

  init(byteCount: Int) {
    self.byteCount = byteCount
  }

  /// Does nothing for a transfer that is charged already.
  func begin(_ id: TransferID) {
    if charges[id] == nil { charges[id] = 0 }
  }

  /// Charges a transfer under way with the difference, before its buffer grows. There has to be
  /// room for all of the new buffer, because the old one lives until its bytes are copied.
  /// - Returns: `false` when it has to wait until ``nextToResume()`` names it.
  func grow(_ id: TransferID, to byteCount: Int) -> Bool {
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
  func end(_ id: TransferID, isHandedOut: Bool) {
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
  func isWaiting(_ id: TransferID) -> Bool { refusedSizes[id] != nil }

  /// Whether transfers under way hold more than the bodies that are handed out. Who waits for room then,
  /// waits for origins.
  var isMostlyUnderWay: Bool { heldByteCount - handedOutByteCount > handedOutByteCount }

  /// The oldest transfer that waits, if what it asked for fits by now; it then waits no longer.
  func nextToResume() -> TransferID? {
    guard let next = refusedSizes.min(by: { $0.key < $1.key }),
      permits(next.value, to: next.key)
    else { return nil }
    refusedSizes[next.key] = nil
    return next.key
  }

  private func permits(_ byteCount: Int, to id: TransferID) -> Bool {
    if refusedSizes.keys.contains(where: { $0 < id }) { return false }
    guard let oldest = charges.min(by: { $0.key < $1.key }) else { return false }
    guard id == oldest.key else {
      return byteCount <= self.byteCount / 2 - (heldByteCount - oldest.value)
    }
    return handedOutByteCount == 0 || byteCount <= self.byteCount - heldByteCount
  }
}

/// The two budgets of a pool: of the bodies in memory, and of those in files. A transfer is charged
/// to one of them or, while it waits for room in the other, to both.
///
/// A body waits for memory where bodies that are handed out hold most of it, because those are soon decoded.
/// Where transfers under way hold it, their origins decide when they end. The body goes on in a file then, so
/// that no origin holds up the pictures of another.
///
/// Two budgets cause no deadlock: bodies in files never wait for memory.
final class BodyBudgets {
  private let memory: BodyBudget
  private let files: BodyBudget

  init(memoryByteCount: Int, fileByteCount: Int) {
    memory = BodyBudget(byteCount: memoryByteCount)
    files = BodyBudget(byteCount: fileByteCount)
  }

  /// What all bodies in memory are charged together.
  var heldMemoryByteCount: Int { memory.heldByteCount }

  /// What all bodies in files are charged together.
  var heldFileByteCount: Int { files.heldByteCount }

  /// A transfer is under way; its body will be in memory.
  func begin(_ id: TransferID) {
    memory.begin(id)
  }

  /// A transfer is under way, and begins with a partial body.
  ///
  /// - Returns: `false` when there is no room for that now. The transfer is then charged nothing
  ///   and does not wait.
  func begin(_ id: TransferID, with charge: BodyCharge) -> Bool {
    memory.begin(id)
    guard grow(id, to: charge) else {
      end(id, isHandedOut: false)
      memory.begin(id)
      return false
    }
    if charge.isOfFile { leaveMemory(id) }
    return true
  }

  /// Charges a transfer whose body is about to grow.
  ///
  /// - Returns: `false` when it has to wait until ``nextToResume()`` names it.
  func grow(_ id: TransferID, to charge: BodyCharge) -> Bool {
    guard charge.isOfFile else {
      // It may have waited for both.
      files.end(id, isHandedOut: false)
      return memory.grow(id, to: charge.byteCount)
    }
    files.begin(id)
    return files.grow(id, to: charge.byteCount)
  }

  /// Whether a body that memory has no room for goes on in a file, and does not wait.
  var prefersFiles: Bool { memory.isMostlyUnderWay }

  /// The body is in a file now, and takes no memory.
  func leaveMemory(_ id: TransferID) {
    memory.end(id, isHandedOut: false)
  }

  /// The body stays in memory, because no file can be made.
  func leaveFiles(_ id: TransferID) {
    files.end(id, isHandedOut: false)
  }

  /// The transfer is no longer under way.
  ///
  /// - Parameter isHandedOut: whether its body lives on until ``release(_:)``.
  func end(_ id: TransferID, isHandedOut: Bool) {
    memory.end(id, isHandedOut: isHandedOut)
    files.end(id, isHandedOut: isHandedOut)
  }

  /// A body that was handed out is freed.
  func release(_ charge: BodyCharge) {
    (charge.isOfFile ? files : memory).release(byteCount: charge.byteCount)
  }

  /// Whether a transfer waits for room.
  func isWaiting(_ id: TransferID) -> Bool { memory.isWaiting(id) || files.isWaiting(id) }

  /// A transfer that no longer has to wait, the oldest of its budget.
  func nextToResume() -> TransferID? {
    memory.nextToResume() ?? files.nextToResume()
  }
}

/// What a body counts against the budgets of its pool until it is given back: bytes of memory, or
/// bytes of a file.
package struct BodyCharge: Hashable, Sendable {
  let byteCount: Int
  var isOfFile = false
}

/// The transfers of a pool that the limits of bandwidth hold: those that a client waits for first, and among them, as
/// among the others, the longest held. Each passes one piece in turn, so a short body waits for one round of the
/// others, and not for the end of a long one.
final class BandwidthQueue {
  private let limits: SharedBandwidth?
  private let clock: () -> UInt64
  private var held: [(id: TransferID, host: SharedBandwidth.Host)] = []
  /// The transfers that a client waits for, held or not.
  private var urgent: Set<TransferID> = []
  /// When the next of them may go on; `nil` while there are none.
  private(set) var deadline: ContinuousClock.Instant?

  /// So long the pool gathers what may pass, so that it does not wake up for each piece.
  private static let shortestWait = Duration.milliseconds(10)
  /// After so long a limit that was changed meanwhile counts.
  private static let longestWait = Duration.milliseconds(250)
  /// For so much longer than until the pool looks again, bytes are reserved: a busy machine is late.
  private static let reservationSlack: UInt64 = 100_000_000

  /// - Parameters:
  ///   - limits: `nil` for none.
  ///   - clock: that of the limits.
  init(_ limits: SharedBandwidth?, clock: @escaping () -> UInt64) {
    self.limits = limits
    self.clock = clock
  }

  private var limitsInForce: SharedBandwidth? {
    limits.flatMap { $0.isLimited ? $0 : nil }
  }

  /// A client waits for a transfer from now on, or no more. None waits for one that is over.
  func setUrgent(_ isUrgent: Bool, _ id: TransferID) {
    guard isUrgent else { return _ = urgent.remove(id) }
    urgent.insert(id)
    held.filter { $0.id == id }.forEach { reserve(for: $0.host) }
  }

  /// Whether bytes of a transfer from a host may pass now.
  func isOpen(_ id: TransferID, of host: SharedBandwidth.Host) -> Bool {
    guard let limits = limitsInForce else { return true }
    let now = clock()
    return limits.opening(for: host, isUrgent: urgent.contains(id), at: now) <= now
  }

  /// Bytes of a host have passed.
  func take(_ byteCount: Int, of host: SharedBandwidth.Host) {
    limitsInForce?.take(byteCount, of: host, at: clock())
  }

  /// A transfer is held from now on, or still.
  func add(_ id: TransferID, of host: SharedBandwidth.Host) {
    guard !held.contains(where: { $0.id == id }) else { return }
    held.append((id, host))
    if urgent.contains(id) { reserve(for: host) }
    let next = ContinuousClock.now + wait(for: [(id, host)])
    deadline = min(deadline ?? next, next)
  }

  /// A transfer is not held any more.
  func remove(_ id: TransferID) {
    if !held.isEmpty { held.removeAll { $0.id == id } }
    if held.isEmpty { deadline = nil }
  }

  /// The first transfer that may go on, which is held no more.
  func takeNext() -> TransferID? {
    guard !held.isEmpty, isOpenForSome else { return nil }
    let isOpen = { (transfer: (id: TransferID, host: SharedBandwidth.Host)) in
      self.isOpen(transfer.id, of: transfer.host)
    }
    let index =
      held.firstIndex { urgent.contains($0.id) && isOpen($0) } ?? held.firstIndex(where: isOpen)
    return index.map { held.remove(at: $0).id }
  }

  private var isOpenForSome: Bool {
    guard let limits = limitsInForce else { return true }
    let now = clock()
    return limits.opening(at: now) <= now
  }

  /// Sets the ``deadline`` by what has passed.
  func schedule(after now: ContinuousClock.Instant) {
    for transfer in held where urgent.contains(transfer.id) { reserve(for: transfer.host) }
    deadline = held.isEmpty ? nil : now + wait(for: held)
  }

  /// How long the pool waits until it looks whether one of these transfers may go on.
  private func wait(for transfers: [(id: TransferID, host: SharedBandwidth.Host)]) -> Duration {
    let now = clock()
    let opening =
      transfers.compactMap { transfer in
        limits?.opening(for: transfer.host, isUrgent: urgent.contains(transfer.id), at: now)
      }.min() ?? now
    let wait = Duration.nanoseconds(opening > now ? opening - now : 0)
    return min(max(wait, Self.shortestWait), Self.longestWait)
  }

  /// No other transfer takes the bytes of a host for which one is held that a client waits for, until the pool has
  /// looked again.
  private func reserve(for host: SharedBandwidth.Host) {
    guard let limits = limitsInForce else { return }
    let now = clock()
    let next = min(
      limits.opening(for: host, at: now), now + UInt64(Self.longestWait.milliseconds) * 1_000_000)
    limits.reserve(for: host, until: next + Self.reservationSlack, at: now)
  }
}

/// For how long the limits of bandwidth hold one transfer.
struct BandwidthHold {
  private var since: ContinuousClock.Instant?
  private var formerTime = Duration.zero

  var time: Duration { since.map { formerTime + (.now - $0) } ?? formerTime }

  /// - Returns: whether it was not held before.
  mutating func begin() -> Bool {
    guard since == nil else { return false }
    since = .now
    return true
  }

  /// - Returns: whether it was held before.
  mutating func end() -> Bool {
    guard since != nil else { return false }
    formerTime = time
    since = nil
    return true
  }
}
