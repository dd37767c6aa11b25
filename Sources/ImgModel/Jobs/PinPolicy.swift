/// How long a job pins what it has stored, or found in the store. What is pinned is not evicted, but it
/// expires like any other.
package enum PinPolicy: String, CaseIterable, Sendable, Codable {
  /// Never: later results of the job may replace earlier ones.
  case none
  /// Until the job ends. If the store is full before, the job waits for room.
  case whileActive = "while_active"
  /// Until it is exported, or a user unpins or removes the job.
  case untilExported = "until_exported"
}
