import ImgModel

/// Operations on their way to the thread that writes the journal.
///
/// Each transaction costs several writes and flushes of the disk, however much it writes. Nothing
/// waits for the outcome of a line but the end of its job, so outcomes wait a little for further ones.
/// After a crash those lines are looked up again: stored pictures are hits, and failed lines are fetched
/// again.
struct GatheredOutcomes {
  private var operations: [JournalOperation] = []
  /// When the oldest of them has waited long enough; `nil` while there are none.
  private(set) var deadline: ContinuousClock.Instant?
  /// Whether they are to be written at once.
  private(set) var isComplete = false

  /// Shorter than the time between two updates of a progress display.
  static let longestWait = Duration.milliseconds(50)
  /// A list of hits has so many outcomes before the time is over. A job may have eight times as many
  /// lines in hand, so it does not wait for these.
  static let maximumCount = 512

  /// Adds an operation. All but outcomes and starts have a client or a job that waits for them.
  mutating func add(_ operation: JournalOperation, at now: ContinuousClock.Instant) {
    if operations.isEmpty { deadline = now + Self.longestWait }
    operations.append(operation)
    switch operation {
    case .record, .start: isComplete = isComplete || operations.count >= Self.maximumCount
    case .createJob, .appendURLs, .seal, .discard, .finish, .change: isComplete = true
    }
  }

  /// Takes all operations, in their order.
  mutating func take() -> [JournalOperation] {
    defer { self = GatheredOutcomes() }
    return operations
  }
}
