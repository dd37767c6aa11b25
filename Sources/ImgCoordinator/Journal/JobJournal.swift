import ImgModel
import ImgStore
import ImgSystem

/// The journal as the loop uses it: read at once, written by its own thread.
final class JobJournal {
  /// What is durable, for reading.
  let stored: Journal
  /// Why outcomes cannot be written; `nil` while they can.
  private(set) var error: String?
  private let writer: JournalWriter
  private let answers: Mailbox<JournalAnswer>
  private var nextJob: JobID
  private var outcomes = GatheredOutcomes()
  private let directory: String
  private let log: Log

  init(_ journal: Journal, in directory: DataDirectory, poller: Poller, log: Log) throws {
    stored = journal
    self.log = log
    self.directory = directory.path
    nextJob = try journal.nextJobID()
    answers = try Mailbox()
    writer = try JournalWriter(journal: journal, in: directory, answers: answers)
    try poller.register(answers.descriptor, .read, token: Token.journal.rawValue)
  }

  /// A number that no job has.
  func takeJobID() -> JobID {
    defer { nextJob = JobID(rawValue: nextJob.rawValue + 1) }
    return nextJob
  }

  /// Has an operation written. Outcomes wait for further ones, see ``GatheredOutcomes``.
  func submit(_ operation: JournalOperation) {
    outcomes.add(operation, at: .now)
    if outcomes.isComplete { writeOutcomes() }
  }

  /// When ``writeOutcomes()`` has to be called; `nil` while no outcome waits.
  var deadline: ContinuousClock.Instant? { outcomes.deadline }

  /// Has the outcomes written that wait for further ones.
  func writeOutcomes() {
    writer.submit(outcomes.take())
  }

  /// What became of operations since the last call. ``error`` is as of the last of them.
  func takeAnswers() -> [JournalAnswer] {
    let taken = answers.takeAll()
    for answer in taken {
      switch answer {
      case .applied:
        error = nil
      case .refused(_, let reason):
        log.note("what clients asked for cannot be written: \(reason)")
      case .stuck(let reason):
        if error == nil { log.note("outcomes cannot be written: \(reason)") }
        error = "outcomes cannot be written to \(directory): \(reason)"
      case .lost:
        break
      }
    }
    return taken
  }

  /// Writes what is queued, as far as the disk takes it, then ends the thread.
  func finish() {
    writeOutcomes()
    writer.finish()
  }
}
