import ImgModel
import ImgStore
import ImgSystem

/// What became of operations that were submitted to the journal, or of the journal itself.
enum JournalAnswer: Hashable, Sendable {
  /// Durable, in this order.
  case applied([JournalOperation])
  /// Not written and dropped: parts of submissions, or changes of jobs. Their clients are refused.
  case refused([JournalOperation], reason: String)
  /// Outcomes cannot be written now. They are kept and tried again every second.
  case stuck(reason: String)
  /// The journal's files were removed: its jobs are lost. Nothing is written any more.
  case lost(reason: String)
}

/// The one thread that writes the journal.
///
/// A durable commit waits for the disk, so the loop must not make it. What arrives during one commit
/// makes up the next, so groups grow exactly when the disk is slow.
struct JournalWriter {
  private let thread: ServiceThread<JournalOperation>

  /// Operations that may wait: more than the scheduler leaves unrecorded, and the parts of lists and
  /// the changes of jobs of all clients together.
  private static let capacity = 1 << 21
  private static let groupMaximum = 8_192
  private static let retryPause = Duration.seconds(1)
  /// How long the removal of the journal may go unnoticed while nothing is written.
  private static let longestPause = Duration.seconds(10)

  /// - Parameter answers: receives every operation once it is durable or dropped.
  init(
    journal: Journal, in directory: DataDirectory, answers: Mailbox<JournalAnswer>
  ) throws(SystemError) {
    let place = JournalPlace(journal: journal, directory: directory)
    thread = try ServiceThread(name: "journal", capacity: Self.capacity) { queue in
      var group = JournalGroup()
      // Before other files take it. What the disk refuses now is reserved before a later write.
      try? journal.reserveRoom()
      // An earlier coordinator may have left free pages.
      var mayShrink = true
      while let operations = queue.take(upTo: Self.groupMaximum, until: .now + Self.longestPause) {
        group.add(operations)
        guard Self.write(&group, to: place, from: queue, answers) else { return }
        if operations.contains(where: \.removesJob) { mayShrink = true }
        // Each group removes a part of what is left of removed jobs; quiet times remove the rest.
        // If it fails because the disk is full, the next group tries again.
        while Self.isQuiet(queue), (try? journal.removeLeftovers()) == true { mayShrink = true }
        if mayShrink, Self.isQuiet(queue) {
          mayShrink = false
          // If it fails because the disk is full, the next removal tries again.
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

  /// Writes the group, and what arrives meanwhile if the disk does not take it at once.
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
        // A coordinator that ends does not wait for the disk. What is lost is looked up again at the
        // next start.
        if queue.isClosed { return false }
        ThisProcess.pause(for: retryPause)
        if queue.count > 0 { group.add(queue.take(upTo: groupMaximum) ?? []) }
      }
    }
    return true
  }

  /// Operations that are submitted after ``finish()`` are lost, as by a crash.
  func submit(_ operations: [JournalOperation]) {
    let isQueued = thread.queue.push(contentsOf: operations)
    precondition(
      isQueued || thread.queue.isClosed, "the journal's queue holds all that may be unrecorded")
  }

  /// Writes what is queued, as far as the disk takes it, then ends the thread.
  func finish() {
    thread.join()
  }
}
