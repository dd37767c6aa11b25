/// Which failures of a job are to be tried again.
///
/// Each outcome carries the round it was made in, and each retry opens a new round. So a retry
/// changes one record however many lines it reopens: a failure of an earlier round than the last
/// retry that includes it has no outcome any more.
package struct JobRetries: Hashable, Sendable, Codable {
  /// The round in which outcomes are made now; 0 before the first retry.
  package private(set) var round = 0
  /// Of earlier rounds, the failures that may pass are open.
  private var retryableBefore = 0
  /// Of earlier rounds, all failures are open.
  private var everyBefore = 0

  package init() {}

  package mutating func add(includesFinal: Bool) {
    round += 1
    retryableBefore = round
    if includesFinal { everyBefore = round }
  }

  /// Whether the last retry was of every failure.
  package var includesFinal: Bool { round > 0 && everyBefore == round }

  /// Whether a failure that was recorded in `round` is to be tried again.
  package func isOpen(failureOf round: Int, isRetryable: Bool) -> Bool {
    round < (isRetryable ? retryableBefore : everyBefore)
  }

  private enum CodingKeys: String, CodingKey {
    case round
    case retryableBefore = "retryable_before"
    case everyBefore = "every_before"
  }
}
