import ImgStore
import ImgSystem
import ImgWire

/// What became of operations handed to the journal.
enum JournalAnswer: Sendable {
  /// Durable, in this order.
  case applied([JournalOperation])
  /// Not written and given up: parts of submissions, whose clients are told.
  case refused([JournalOperation], reason: String)
  /// Outcomes cannot be written now; they are kept and tried again every second.
  case stuck(reason: String)
}

/// The one thread that writes the journal.
///
/// A durable commit waits for the disk, so the loop must not make it; what gathers while one commit
/// is under way makes up the next, so the groups grow by themselves exactly when the disk is slow.
struct JournalWriter {
  private let thread: ServiceThread<JournalOperation>

  /// Operations that may wait: more than the scheduler lets be unrecorded and all clients together
  /// may have unwritten parts of lists and changes of jobs.
  private static let capacity = 1 << 21
  private static let groupMaximum = 8_192
  private static let retryPause = Duration.seconds(1)

  /// - Parameter answers: hears of every operation once it is durable or given up.
  init(journal: Journal, answers: Mailbox<JournalAnswer>) throws(SystemError) {
    thread = try ServiceThread(name: "journal", capacity: Self.capacity) { queue in
      var group = JournalGroup()
      while let operations = queue.take(upTo: Self.groupMaximum) {
        group.add(operations)
        while let answer = group.write(to: journal) {
          answers.post(answer)
          guard case .stuck = answer else { continue }
          // Who leaves cannot wait for a disk: what is lost is looked up again at the next start.
          if queue.isClosed { return }
          ThisProcess.pause(for: Self.retryPause)
          if queue.count > 0 { group.add(queue.take(upTo: Self.groupMaximum) ?? []) }
        }
        // What is left of removed jobs goes a part with each group, and all of it in quiet times.
        // When it fails, for want of room, the next group tries again.
        while queue.count == 0, !queue.isClosed, (try? journal.removeLeftovers()) == true {}
      }
    }
  }

  /// What comes after ``finish()`` is lost, as by a crash.
  func submit(_ operation: JournalOperation) {
    let isQueued = thread.queue.push(operation)
    precondition(
      isQueued || thread.queue.isClosed, "the journal's queue holds all that may be unrecorded")
  }

  /// Writes what is queued, as far as the disk takes it, then ends the thread.
  func finish() {
    thread.join()
  }
}

/// The operations that the next transaction writes, and what of them may be given up.
private struct JournalGroup {
  private var pending: [JournalOperation] = []
  /// Submissions of which a part was refused. What follows of them is dropped up to their discard:
  /// a job without its middle must not come about.
  private var refused: Set<JobID> = []

  mutating func add(_ operations: [JournalOperation]) {
    for operation in operations {
      if case .discard(let job) = operation { refused.remove(job) }
      if operation.isPartOfSubmission, refused.contains(operation.job) { continue }
      pending.append(operation)
    }
  }

  /// Writes everything as one transaction.
  ///
  /// - Returns: what became of it; `nil` when there was nothing to write.
  mutating func write(to journal: Journal) -> JournalAnswer? {
    guard !pending.isEmpty else { return nil }
    do throws(StoreError) {
      try journal.apply(pending)
      defer { pending = [] }
      return .applied(pending)
    } catch {
      // A submission is not accepted yet, so it can be refused; an outcome is the work done.
      let submissions = pending.filter(\.isPartOfSubmission)
      guard submissions.isEmpty else {
        refused.formUnion(submissions.map(\.job))
        pending.removeAll(where: \.isPartOfSubmission)
        return .refused(submissions, reason: error.description)
      }
      return .stuck(reason: error.description)
    }
  }
}

extension JournalOperation {
  /// Whether it belongs to a list that is still being received.
  var isPartOfSubmission: Bool {
    switch self {
    case .createJob, .appendURLs, .seal: true
    case .discard, .start, .record, .finish, .change: false
    }
  }

  var job: JobID {
    switch self {
    case .createJob(let record): record.id
    case .appendURLs(let id, _), .seal(let id), .discard(let id), .start(let id, _),
      .record(let id, _, _), .finish(let id, _), .change(let id, _, _):
      id
    }
  }
}
