import ImgModel
import ImgStore
import ImgSystem

/// What became of operations handed to the journal, or of the journal itself.
enum JournalAnswer: Sendable {
  /// Durable, in this order.
  case applied([JournalOperation])
  /// Not written and given up: parts of submissions, or changes of jobs, whose clients are told.
  case refused([JournalOperation], reason: String)
  /// Outcomes cannot be written now; they are kept and tried again every second.
  case stuck(reason: String)
  /// The journal's files were removed: its jobs are lost. Nothing is written any more.
  case lost(reason: String)
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
  /// How long the removal of the journal may go unnoticed while nothing is written.
  private static let longestPause = Duration.seconds(10)

  /// - Parameter answers: hears of every operation once it is durable or given up.
  init(
    journal: Journal, in directory: DataDirectory, answers: Mailbox<JournalAnswer>
  ) throws(SystemError) {
    let place = JournalPlace(journal: journal, directory: directory)
    thread = try ServiceThread(name: "journal", capacity: Self.capacity) { queue in
      var group = JournalGroup()
      // Before others take it. What the disk refuses now is asked for again before each write.
      try? journal.reserveRoom()
      // What a coordinator before this one has left.
      var mayShrink = true
      while let operations = queue.take(upTo: Self.groupMaximum, until: .now + Self.longestPause) {
        group.add(operations)
        guard Self.write(&group, to: place, from: queue, answers) else { return }
        if operations.contains(where: \.removesJob) { mayShrink = true }
        // What is left of removed jobs goes a part with each group, and all of it in quiet times.
        // When it fails, for want of room, the next group tries again.
        while Self.isQuiet(queue), (try? journal.removeLeftovers()) == true { mayShrink = true }
        if mayShrink, Self.isQuiet(queue) {
          mayShrink = false
          // When it fails, for want of room, the next removal tries again.
          if (try? journal.isMostlyFree()) == true { try? journal.compact() }
        }
      }
      // A removal in the last pause is reported as well.
      _ = Self.write(&group, to: place, from: queue, answers)
    }
  }

  private static func isQuiet(_ queue: BlockingQueue<JournalOperation>) -> Bool {
    queue.count == 0 && !queue.isClosed
  }

  /// Writes the group, and what comes in meanwhile when the disk does not take it at once.
  ///
  /// - Returns: whether there may be more to write.
  private static func write(
    _ group: inout JournalGroup, to place: JournalPlace,
    from queue: BlockingQueue<JournalOperation>, _ answers: Mailbox<JournalAnswer>
  ) -> Bool {
    while let answer = group.write(to: place) {
      answers.post(answer)
      switch answer {
      case .applied, .refused:
        continue
      case .lost:
        return false
      case .stuck:
        // Who leaves cannot wait for a disk: what is lost is looked up again at the next start.
        if queue.isClosed { return false }
        ThisProcess.pause(for: retryPause)
        if queue.count > 0 { group.add(queue.take(upTo: groupMaximum) ?? []) }
      }
    }
    return true
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
  /// - Returns: what became of it, to be called again; `nil` when there was nothing left to do.
  mutating func write(to place: JournalPlace) -> JournalAnswer? {
    if let reason = place.loss { return .lost(reason: reason) }
    guard !pending.isEmpty else { return nil }
    do throws(StoreError) {
      try reserveRoom(in: place.journal)
      try place.journal.apply(pending)
    } catch {
      return refuseSubmissions(because: error.description)
        ?? applyFirstChange(to: place.journal)
        ?? .stuck(reason: error.description)
    }
    // What was written into removed files is not durable.
    if let reason = place.loss { return .lost(reason: reason) }
    defer { pending = [] }
    return .applied(pending)
  }

  /// New lists must not use up the room that is reserved for the jobs that were accepted.
  private func reserveRoom(in journal: Journal) throws(StoreError) {
    let isAccepting = pending.contains(where: \.isPartOfSubmission)
    let listByteCount = isAccepting ? pending.reduce(0) { $0 + $1.listByteCount } : 0
    do throws(StoreError) {
      try journal.reserveRoom(besideLists: listByteCount)
    } catch {
      if isAccepting { throw error }
    }
  }

  /// Writes the first change by itself, before the outcomes that cannot be written: it may need less
  /// room than they do, or be of a job that is not damaged.
  ///
  /// - Returns: what became of it; `nil` when there is no change.
  private mutating func applyFirstChange(to journal: Journal) -> JournalAnswer? {
    guard let index = pending.firstIndex(where: \.isChange) else { return nil }
    let change = pending.remove(at: index)
    do throws(StoreError) {
      try journal.apply([change])
    } catch {
      return .refused([change], reason: error.description)
    }
    guard case .change(let job, .cancel, _) = change else { return .applied([change]) }
    // What was submitted before the cancel and is written after it changes nothing any more.
    let late = pending.filter { $0.job == job }
    pending.removeAll { $0.job == job }
    return .applied([change] + late)
  }

  /// - Returns: `nil` when there are none.
  private mutating func refuseSubmissions(because reason: String) -> JournalAnswer? {
    let submissions = pending.filter(\.isPartOfSubmission)
    guard !submissions.isEmpty else { return nil }
    refused.formUnion(submissions.map(\.job))
    pending.removeAll(where: \.isPartOfSubmission)
    return .refused(submissions, reason: reason)
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

  /// Whether the room of a job becomes free by it.
  var removesJob: Bool {
    switch self {
    case .discard, .change(_, .remove, at: _): true
    default: false
    }
  }

  /// What the lines of a list take; the rest is little.
  fileprivate var listByteCount: Int {
    guard case .appendURLs(_, let lines) = self else { return 0 }
    return lines.reduce(0) { $0 + $1.utf8.count }
  }

  var isChange: Bool {
    if case .change = self { true } else { false }
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
