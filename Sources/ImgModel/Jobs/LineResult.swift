/// A line of a job's list and its outcome.
package struct LineResult: Hashable, Sendable, Codable {
  /// The line's index in the list, from 0.
  package let index: Int
  /// The line as the client submitted it.
  package let url: String
  /// `nil` if the line has no outcome yet.
  package let outcome: Outcome?

  package init(index: Int, url: String, outcome: Outcome?) {
    self.index = index
    self.url = url
    self.outcome = outcome
  }
}
