/// The failures of a job that a retry reopened.
///
/// Each retry starts a new round, and each recorded outcome has its round. A failure is open if a
/// retry that includes it is newer than its round. So a retry writes one record, however many lines
/// it reopens.
package struct JobRetries: Hashable, Sendable, Codable {
  /// The current round; 0 before the first retry.
  package private(set) var round = 0
  /// Retryable failures of rounds before this one are open.
  private var retryableBefore = 0
  /// All failures of rounds before this one are open.
  private var everyBefore = 0

  package init() {}

  /// Starts a new round.
  package mutating func add(includesFinal: Bool) {
    round += 1
    retryableBefore = round
    if includesFinal { everyBefore = round }
  }

  /// Whether the last retry included every failure.
  package var includesFinal: Bool { round > 0 && everyBefore == round }

  /// Whether a retry reopened a failure of this round.
  package func isOpen(failureOf round: Int, isRetryable: Bool) -> Bool {
    round < (isRetryable ? retryableBefore : everyBefore)
  }

  private enum CodingKeys: String, CodingKey {
    case round
    case retryableBefore = "retryable_before"
    case everyBefore = "every_before"
  }
}
