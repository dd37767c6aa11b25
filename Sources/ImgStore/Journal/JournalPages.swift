package import ImgModel

/// Lines of a job without an outcome, in the job's order.
package struct URLPage: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package let index: Int
    /// The line as submitted; `nil` if the list is damaged.
    package let url: String?
  }

  package var entries: [Entry] = []
  /// The position of the next page; the end of the requested positions after the last page. A page
  /// may be empty without being the last one.
  package var next: Int
}

/// Lines of a job with their outcomes.
package struct ResultPage: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package let index: Int
    /// The line as submitted; empty if the list is damaged.
    package let url: String
    /// `nil` if there is none yet, if the job was cancelled before, or if a retry has reopened the
    /// failure.
    package let outcome: Outcome?
  }

  package var entries: [Entry] = []
  /// The index of the next page; `nil` at the end of the list. A page may be empty without being
  /// the last one.
  package var next: Int?
}
