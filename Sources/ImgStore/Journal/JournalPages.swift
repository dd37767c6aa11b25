package import ImgWire

/// Lines of a job that have no outcome yet.
package struct URLPage: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package let index: Int
    /// The line as it was submitted.
    package let url: String
  }

  package var entries: [Entry] = []
  /// Where to read on; `nil` when the end of the list is reached. A page may be empty and yet not
  /// the last.
  package var next: Int?
}

/// Lines of a job with what became of them.
package struct ResultPage: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package let index: Int
    /// The line as it was submitted.
    package let url: String
    /// `nil` when there is none yet, or the job was cancelled before there was one.
    package let outcome: Outcome?
  }

  package var entries: [Entry] = []
  /// Where to read on; `nil` when the end of the list is reached. A page may be empty and yet not
  /// the last.
  package var next: Int?
}
