/// A command for a child process, one line of JSON each; see `imgcrashtest serve`.
package enum ChildCommand: Codable, Sendable {
  case step(StoreStep)
  /// Holds a reader's snapshot with this picture. The child replies when it has started, and again
  /// after the next line, which ends it.
  case hold(Int)
}

/// The reply of a child process.
package enum ChildReply: Codable, Sendable {
  case done(StepAnswer)
  /// The reason of a failure, as a sentence.
  case failed(String)
}
