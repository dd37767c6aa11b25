package import ImgModel

/// Lines of a job that have no outcome, in the order in which they leave the list.
package struct URLPage: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package let index: Int
    /// The line as it was submitted; `nil` where the list is damaged.
    package let url: String?
  }

  package var entries: [Entry] = []
  /// The position at which to read on; the end of the positions asked for when there is nothing
  /// more in them. A page may be empty and yet not the last.
  package var next: Int
}

/// Lines of a job with what became of them.
package struct ResultPage: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package let index: Int
    /// The line as it was submitted; empty where the list is damaged.
    package let url: String
    /// `nil` when there is none yet, when the job was cancelled before there was one, or when it
    /// was a failure that is to be tried again.
    package let outcome: Outcome?
  }

  package var entries: [Entry] = []
  /// Where to read on; `nil` when the end of the list is reached. A page may be empty and yet not
  /// the last.
  package var next: Int?
}
