package import ImgModel

/// A page of a job's lines.
package struct ResultsPage: Hashable, Sendable, Codable {
  package struct Entry: Hashable, Sendable, Codable {
    /// The line's place in the list, from 0.
    package let index: Int
    /// The line as it was submitted.
    package let url: String
    /// `nil` while the line waits or runs.
    package let outcome: Outcome?

    package init(index: Int, url: String, outcome: Outcome?) {
      self.index = index
      self.url = url
      self.outcome = outcome
    }
  }

  package let id: RequestID
  package let entries: [Entry]
  /// Where the next page begins; `nil` after the last.
  package let next: Int?

  /// The most lines of a page, and the most bytes of their text together.
  package static let maximumCount = 500
  package static let maximumByteCount = 96 << 10

  package init(id: RequestID, entries: [Entry], next: Int?) {
    self.id = id
    self.entries = entries
    self.next = next
  }
}
