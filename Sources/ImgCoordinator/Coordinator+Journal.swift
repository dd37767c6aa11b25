import ImgCore
import ImgModel
import ImgSettings
import ImgStore
import ImgSystem

/// The journal: read here, written by its own thread.
extension Coordinator {
  func answer(_ request: LinePageRequest) {
    guard scheduler.awaits(request) else { return }
    do throws(StoreError) {
      let page = try journal.urls(
        of: request.job, positions: request.positions, order: request.order,
        limit: request.limit)
      let lines = page.entries.map { JobLine(index: $0.index, text: $0.url) }
      feed(.linesRead(request, LinePage(lines: lines, next: page.next)))
    } catch {
      // Without its lists the coordinator cannot work, and going on would leave the job hanging.
      log.note("job \(request.job) cannot be read from the journal: \(error)")
      endNow(status: 1)
    }
  }

  func journalAnswered() {
    for answer in journalAnswers.takeAll() {
      switch answer {
      case .applied(let operations):
        journalError = nil
        feed(.journaled(operations))
        for operation in operations { applied(operation) }
      case .refused(let operations, let reason):
        log.note("what clients asked for cannot be written: \(reason)")
        refuse(operations, because: reason)
      case .stuck(let reason):
        if journalError == nil { log.note("outcomes cannot be written: \(reason)") }
        journalError = "outcomes cannot be written to \(settings.dataDirectory): \(reason)"
      case .lost(let reason):
        // The log may have gone as well: a line in a file without a name would reach no reader.
        try? FileIO.renewLog(at: settings.logPath)
        giveUp(reason)
      }
    }
  }

  private func refuse(_ operations: [JournalOperation], because reason: String) {
    for case .change(let job, let change, _) in operations {
      changeIsRefused(of: job, change, because: reason)
    }
    let submissions = operations.filter(\.isPartOfSubmission)
    for job in Set(submissions.map(\.job)) { refuseSubmission(of: job, because: reason) }
  }

  private func applied(_ operation: JournalOperation) {
    switch operation {
    case .createJob, .appendURLs:
      submissionPartIsWritten(of: operation.job)
    case .seal(let job):
      if let record = accept(job) { submissionIsAccepted(record) }
    case .change(let job, let change, _):
      changeIsDurable(of: job, change)
    case .start, .record, .finish, .discard:
      break
    }
  }

  /// The list is durable, or its failures are open again: its job runs.
  @discardableResult
  func accept(_ id: JobID) -> JobRecord? {
    do throws(StoreError) {
      guard let record = try journal.job(id) else {
        preconditionFailure("a job that was written is in the journal")
      }
      feed(.jobAccepted(record))
      return record
    } catch {
      log.note("job \(id) cannot be read from the journal: \(error)")
      endNow(status: 1)
      return nil
    }
  }

  /// A job that has not ended, as it stands now; `nil` for any other.
  func activeStatus(of id: JobID) -> JobStatus? {
    scheduler.status(of: id, at: .now, journalError: journalError)
  }

  /// A job as it stands now, whether it runs or has ended long ago; `nil` when there is none.
  func status(of id: JobID) throws(StoreError) -> JobStatus? {
    if let active = activeStatus(of: id) { return active }
    guard let record = try journal.job(id), record.state != .submitting else { return nil }
    return JobStatus(record)
  }
}
