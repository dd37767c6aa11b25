import ImgCore
import ImgSettings
import ImgStore
import ImgSystem
import ImgWire

/// The journal: read here, written by its own thread.
extension Coordinator {
  func readLines(of job: JobID, from index: Int, limit: Int) {
    do throws(StoreError) {
      let page = try journal.urls(of: job, from: index, limit: limit)
      let lines = page.entries.map { JobLine(index: $0.index, text: $0.url) }
      feed(.linesRead(job, lines, next: page.next))
    } catch {
      // Without its lists the coordinator cannot work, and going on would leave the job hanging.
      log.note("job \(job) cannot be read from the journal: \(error)")
      endNow(status: 1)
    }
  }

  func journalAnswered() {
    for answer in journalAnswers.takeAll() {
      switch answer {
      case .applied(let operations):
        journalTrouble = nil
        for operation in operations { applied(operation) }
      case .refused(let operations, let reason):
        log.note("a list cannot be accepted: \(reason)")
        for job in Set(operations.map(\.job)) { refuseSubmission(of: job, because: reason) }
      case .stuck(let reason):
        if journalTrouble == nil { log.note("outcomes cannot be written: \(reason)") }
        journalTrouble = "outcomes cannot be written to \(settings.dataDirectory): \(reason)"
      }
    }
  }

  private func applied(_ operation: JournalOperation) {
    switch operation {
    case .createJob, .appendURLs:
      submissionPartIsWritten(of: operation.job)
    case .seal(let job):
      accept(job)
    case .start, .record, .finish, .cancel:
      feed(.journaled(operation))
    case .discard:
      break
    }
  }

  /// The list is durable: its job runs, and its client may know the number.
  private func accept(_ id: JobID) {
    do throws(StoreError) {
      guard let record = try journal.job(id) else {
        preconditionFailure("a sealed job is in the journal")
      }
      feed(.jobAccepted(record))
      submissionIsAccepted(record)
    } catch {
      log.note("job \(id) cannot be read from the journal: \(error)")
      endNow(status: 1)
    }
  }

  /// A job as it stands now, whether it runs or has ended long ago; `nil` when there is none.
  func status(of id: JobID) throws(StoreError) -> JobStatus? {
    if let active = scheduler.status(of: id) { return active }
    guard let record = try journal.job(id), record.state != .submitting else { return nil }
    return JobStatus(record)
  }
}
