import ImgModel

/// When previews of one arriving body are made, and for which lease the next one is.
///
/// A body costs at most one preview each ``interval``, however many leases want some: they take turns. A
/// body that comes in within that time has none.
struct PreviewPlan {
  static let interval = Duration.milliseconds(500)
  /// After a preview, the next one is worth making when the body has grown by one part in so many.
  static let growthDivisor = 8

  /// The one whose turn it is comes first.
  private(set) var leases: [LeaseID] = []
  /// The first bytes of the body that the last preview shows.
  private(set) var shownByteCount = 0
  private var dueAt: ContinuousClock.Instant
  private var byteCount = 0
  /// Bytes that were there at the last attempt.
  private var triedByteCount = 0

  init(at now: ContinuousClock.Instant) {
    dueAt = now + Self.interval
  }

  mutating func add(_ lease: LeaseID) {
    if !leases.contains(lease) { leases.append(lease) }
  }

  mutating func remove(_ lease: LeaseID) {
    leases.removeAll { $0 == lease }
  }

  mutating func bodyGrew(to byteCount: Int) {
    self.byteCount = byteCount
  }

  /// When the next preview may be made; `nil` while it would show nothing new.
  var deadline: ContinuousClock.Instant? {
    let isWorthMaking =
      byteCount > triedByteCount
      && byteCount >= shownByteCount + shownByteCount / Self.growthDivisor
    return isWorthMaking && !leases.isEmpty ? dueAt : nil
  }

  /// A preview is being made.
  ///
  /// - Precondition: a lease wants previews.
  /// - Returns: the lease that it is for.
  mutating func begin(at now: ContinuousClock.Instant) -> LeaseID {
    dueAt = now + Self.interval
    triedByteCount = byteCount
    let lease = leases.removeFirst()
    leases.append(lease)
    return lease
  }

  /// The preview is made.
  mutating func made(showing byteCount: Int) {
    shownByteCount = byteCount
  }

  /// No preview was tried. What has arrived is worth another attempt.
  mutating func postpone() {
    triedByteCount = 0
  }

  /// The body will never have one.
  mutating func end() {
    leases = []
  }
}
