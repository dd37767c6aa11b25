/// Puts on their way to the store thread.
///
/// A transaction costs several writes and a flush of the disk, however little it stores. Puts for
/// lists therefore wait a few milliseconds for others. A put whose lease was granted for a client is
/// written at once, together with all that wait.
struct GatheredPuts {
  private var puts: [StorePut] = []
  /// When they are written at the latest; `nil` while there are none.
  private(set) var deadline: ContinuousClock.Instant?

  /// A decoder makes a few thumbnails in this time, so few leases wait.
  static let longestWait = Duration.milliseconds(8)

  /// - Parameter isUrgent: whether a client waits for it.
  mutating func add(_ put: StorePut, isUrgent: Bool, at now: ContinuousClock.Instant) {
    puts.append(put)
    let isComplete = isUrgent || puts.count >= StoreWriter.groupMaximum
    deadline = isComplete ? now : deadline ?? now + Self.longestWait
  }

  /// Whether they have waited long enough, or no other lease can bring one.
  ///
  /// - Parameter leaseCount: all leases of the worker, also those whose puts wait here or are being
  ///   written.
  func isDue(amongLeases leaseCount: Int, at now: ContinuousClock.Instant) -> Bool {
    deadline.map { $0 <= now || puts.count >= leaseCount } ?? false
  }

  /// Takes all of them, in their order.
  mutating func take() -> [StorePut] {
    defer { self = GatheredPuts() }
    return puts
  }
}
