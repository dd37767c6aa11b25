/// Puts on their way to the store thread.
///
/// A transaction costs several writes and a flush of the disk, however little it stores. So what lists
/// store waits a little for more of it. What a client waits for takes all of it along at once.
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

  /// Whether they have waited long enough, or no others can come.
  ///
  /// - Parameter leaseCount: all leases of the worker, those of the puts among them.
  func isDue(amongLeases leaseCount: Int, at now: ContinuousClock.Instant) -> Bool {
    deadline.map { $0 <= now || puts.count >= leaseCount } ?? false
  }

  /// Takes all of them, in their order.
  mutating func take() -> [StorePut] {
    defer { self = GatheredPuts() }
    return puts
  }
}
