package import ImgWire

/// What the scheduler wants done. Effects are carried out in their order.
package enum Effect: Hashable, Sendable {
  case send(CoordinatorMessage, to: WorkerID)
  /// Start a process for this slot; a failure to start is reported as its exit.
  case spawn(WorkerID, slot: Int)
  /// End the process at once; its exit follows as an event.
  case kill(WorkerID)

  /// Read lines without an outcome from the journal; answered by `linesRead`.
  case readLines(LinePageRequest)
  /// Make this durable; answered by `journaled`. Operations are made durable in their order.
  case journal(JournalOperation)

  case answer(ViewerID, Outcome)
  /// The job has ended, by a finish or a cancel, and its end is durable.
  case jobEnded(JobRecord)

  /// Nothing runs any more after a request to drain.
  case drained
  /// No worker can be kept alive; the reason is for people. Jobs stay in the journal.
  case giveUp(reason: String)
}
