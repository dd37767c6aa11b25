/// Notices a coordinator that no longer answers, such as one that was stopped by a signal. It is asked
/// something after some time without a word, and is given up after as long again.
struct SilenceWatch: Sendable {
  enum Finding: Sendable {
    case nothing, isSilent, isLost
  }

  static let standardPatience = Duration.seconds(30)

  private let patience: Duration
  private var lastWord: ContinuousClock.Instant
  private var isAsked = false

  init(at now: ContinuousClock.Instant, patience: Duration = standardPatience) {
    lastWord = now
    self.patience = patience
  }

  /// When to look again.
  var deadline: ContinuousClock.Instant { lastWord + patience * (isAsked ? 2 : 1) }

  /// The coordinator has said something, or no call waits for it.
  mutating func heard(at now: ContinuousClock.Instant) {
    lastWord = now
    isAsked = false
  }

  /// - Returns: `isSilent` once, when the coordinator is to be asked something.
  mutating func look(at now: ContinuousClock.Instant) -> Finding {
    guard now >= deadline else { return .nothing }
    guard !isAsked else { return .isLost }
    isAsked = true
    return .isSilent
  }
}
