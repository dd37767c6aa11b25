import ImgWire

/// A line of a job's list that has no outcome yet.
package struct JobLine: Hashable, Sendable {
  package let index: Int
  package let text: String

  package init(index: Int, text: String) {
    self.index = index
    self.text = text
  }
}

/// A job that has not ended. Its list stays in the journal; only a window of it is in memory.
struct ActiveJob {
  var record: JobRecord
  /// Lines read from the journal and not yet taken up.
  var window = FIFO<JobLine>()
  /// Where reading goes on; `nil` after the last line.
  var nextIndex: Int?
  var isReading = false
  /// Lines that wait at a work item, running or not.
  var takenUpCount = 0
  /// Lines with a worker, or whose outcome is on its way into the journal.
  var runningCount = 0
  /// Whether the journal was told of the end, by a finish or a cancel: nothing of the job starts
  /// any more.
  var isEnding = false

  init(_ record: JobRecord) {
    self.record = record
    nextIndex = record.lowWater
  }
}
