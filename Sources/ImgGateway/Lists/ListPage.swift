import FoundationEssentials

/// A page of a list.
package struct ListPage: Hashable, Sendable {
  package let entries: [ListEntry]
  /// The value of the field `Link` (RFC 8288): the pages before and after this one; `nil` without any.
  package let link: String?

  /// - Parameter links: `nil` where there is no such page.
  init(_ entries: [ListEntry], previous: ListQuery?, next: ListQuery?) {
    self.entries = entries
    let links = [(previous, "prev"), (next, "next")].compactMap { query, relation in
      query.map { "<\($0.target)>; rel=\"\(relation)\"" }
    }
    link = links.isEmpty ? nil : links.joined(separator: ", ")
  }
}
