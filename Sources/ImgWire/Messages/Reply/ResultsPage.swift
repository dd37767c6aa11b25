package import ImgModel

/// A page of a job's lines.
package struct ResultsPage: Hashable, Sendable, Codable {
  package let id: RequestID
  package let entries: [LineResult]
  /// The index of the first line of the next page; `nil` on the last page.
  package let next: Int?

  /// The maximum number of lines in a page, and the maximum size of their text.
  package static let maximumCount = 500
  package static let maximumByteCount = 96 << 10

  package init(id: RequestID, entries: [LineResult], next: Int?) {
    self.id = id
    self.entries = entries
    self.next = next
  }
}
