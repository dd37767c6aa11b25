/// What a process that obeys is told, a line of JSON each; see `imgprove obey`.
package enum ServantOrder: Codable, Sendable {
  case step(StoreStep)
  /// Keeps a reader's snapshot, with this picture in hand: answered when it has begun, and again
  /// after the next line, whatever that is, which ends it.
  case hold(Int)
}

/// What it answers.
package enum ServantAnswer: Codable, Sendable {
  case done(StepAnswer)
  /// Why it could not, as a sentence.
  case failed(String)
}
