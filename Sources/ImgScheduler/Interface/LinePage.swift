package import ImgModel

/// A line of a job's list that has no outcome yet.
package struct JobLine: Hashable, Sendable {
  /// Its index in the list, from 0, whatever the job's order.
  package let index: Int
  /// `nil` where the journal is damaged.
  package let text: String?

  package init(index: Int, text: String?) {
    self.index = index
    self.text = text
  }
}

/// A page of a list that the scheduler wants to read.
///
/// Positions count the lines in the job's order: position 0 is the first line of a `fifo` job and
/// the last of a `lifo` one.
package struct LinePageRequest: Hashable, Sendable {
  package let job: JobID
  /// Names the request; its answer is taken only while the scheduler still waits for it.
  let ticket: UInt64
  /// The host for whose lines this is; `nil` for all.
  let host: String?
  package let order: LineOrder
  /// The positions to look at, in ascending order. Lines that have an outcome are left out.
  package let positions: [Range<Int>]
  /// How many lines at most.
  package let limit: Int
}

/// The lines that were found, as the journal had them when they were read. The driver sends a page
/// before it reports any later `journaled`.
package struct LinePage: Hashable, Sendable {
  package let lines: [JobLine]
  /// The position where the next page begins; the end of the last requested range after the last.
  package let next: Int

  package init(lines: [JobLine], next: Int) {
    self.lines = lines
    self.next = next
  }
}
