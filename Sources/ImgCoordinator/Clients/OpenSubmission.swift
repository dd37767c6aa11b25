import ImgModel
import ImgWire

/// A list that the coordinator receives from a client.
struct OpenSubmission {
  let request: RequestID
  let job: JobID
  /// Parts that were handed to the journal and are not durable yet.
  private(set) var unwrittenCount = 0
  /// Whether the last part has arrived.
  private(set) var isComplete = false

  /// Parts that may wait for the disk. With more, the client is not served.
  private static let unwrittenMaximum = 8

  init(request: RequestID, job: JobID) {
    self.request = request
    self.job = job
  }

  /// Whether the disk keeps up with the list.
  var takesParts: Bool { unwrittenCount < Self.unwrittenMaximum }

  mutating func partWasQueued() {
    unwrittenCount += 1
  }

  mutating func partWasWritten() {
    precondition(unwrittenCount > 0, "a part is written once")
    unwrittenCount -= 1
  }

  mutating func complete() {
    precondition(!isComplete, "a list ends once")
    isComplete = true
  }
}
