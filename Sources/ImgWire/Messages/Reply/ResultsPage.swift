package import ImgModel

/// A page of a job's lines.
package struct ResultsPage: Hashable, Sendable, Codable {
  package struct Entry: Hashable, Sendable, Codable {
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

  package let id: RequestID
  package let entries: [Entry]
  /// The index of the first line of the next page; `nil` on the last page.
  package let next: Int?

  /// The maximum number of lines in a page, and the maximum size of their text.
  package static let maximumCount = 500
  package static let maximumByteCount = 96 << 10

  package init(id: RequestID, entries: [Entry], next: Int?) {
    self.id = id
    self.entries = entries
    self.next = next
  }
}
