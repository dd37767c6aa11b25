/// Crashes of workers in calls of the store. LMDB asserts, and follows offsets without a check, so
/// damaged pages end the process that reads them.
///
/// One crash may have another reason, such as memory that ran out. A second one within the period
/// is taken for damage, and the store is recreated. If crashes go on after that has happened a few
/// times, a damaged file is not the reason: they count like any other crash, so that the work ends.
struct StoreCrashes {
  enum Verdict {
    /// Nothing follows yet, and no picture is the reason.
    case tolerated
    /// The store is damaged, and no picture is the reason.
    case damage
    /// As any other crash.
    case ordinary
  }

  static let period = Duration.seconds(600)
  /// Crashes within the period that are taken for damage.
  static let crashMaximum = 2
  /// Stores that are removed within the period.
  static let recreationMaximum = 3

  /// At most as many as the maximum, the oldest first.
  private var crashes: [ContinuousClock.Instant] = []
  private var recreations: [ContinuousClock.Instant] = []

  /// A worker has crashed in the store.
  mutating func note(at now: ContinuousClock.Instant) -> Verdict {
    crashes.removeAll { now - $0 > Self.period }
    recreations.removeAll { now - $0 > Self.period }
    guard recreations.count < Self.recreationMaximum else { return .ordinary }
    crashes.append(now)
    guard crashes.count >= Self.crashMaximum else { return .tolerated }
    crashes = []
    recreations.append(now)
    return .damage
  }
}
