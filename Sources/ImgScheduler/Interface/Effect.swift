package import ImgModel
package import ImgWire

/// What the scheduler wants done. Effects are performed in their order.
package enum Effect: Hashable, Sendable {
  case send(CoordinatorMessage, to: WorkerID)
  /// The same with a memory file beside the message. The driver keeps the file.
  case pass(MemoryFileID, CoordinatorMessage, to: WorkerID)
  /// Start a process for the worker of this number; a failure to start is reported as its exit.
  case spawn(WorkerID, number: Int)
  /// End the process at once; its exit follows as an event.
  case kill(WorkerID)

  /// Read lines without an outcome from the journal; answered by `linesRead`.
  case readLines(LinePageRequest)
  /// Make this durable; answered by `journaled`. Operations are made durable in their order.
  case journal(JournalOperation)

  /// - timings: of what was fetched or decoded for the outcome.
  case answer(ViewerID, Outcome, Timings?)
  /// The viewer's answer is a thumbnail that is not in the store; the memory file holds it.
  case deliver(MemoryFileID, UncachedThumbnail, bytesFetched: Int, to: ViewerID)
  /// Show the viewer a preview, which the memory file holds. The viewer still waits for its answer.
  case show(MemoryFileID, Thumbnail, to: ViewerID)
  /// Tell the viewer how much of its picture has arrived. The viewer still waits for its answer.
  case reportProgress(BodyProgress, to: ViewerID)
  /// Close the memory file: it is sent to no further recipient.
  case release(MemoryFileID)
  /// The job has ended, by a finish or a cancel, and its end is durable.
  case jobEnded(JobRecord)

  /// The store takes no thumbnails any more, or takes them again; for people.
  case storeErrorBegan(StoreErrorStatus)
  case storeErrorEnded(StoreErrorStatus)

  /// Workers crash on the store: remove it, so that the next writer creates it. The reason is for
  /// people.
  case recreateStore(reason: String)

  /// Nothing runs any more after a request to drain.
  case drained
  /// No worker can be kept alive; the reason is for people. Jobs stay in the journal.
  case noWorkers(reason: String)
}
