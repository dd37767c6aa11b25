import ImgModel
import ImgScheduler
import ImgStore
import ImgWire

/// Lists that the coordinator receives: part by part from the client into the journal, no faster
/// than the disk takes them. A list becomes a job once its last part is durable.
final class Submissions {
  /// Who sends the list of a job that is not accepted yet. A client that has sent its whole list may leave
  /// before the job is accepted; its entry stays until then.
  private var submitters: [JobID: ClientID] = [:]
  private let clients: ClientTable
  private let journal: JobJournal
  private let starter: JobStarter
  private let lifecycle: Lifecycle
  private let log: Log

  private static let nameMaximumByteCount = 200

  init(
    clients: ClientTable, journal: JobJournal, starter: JobStarter, lifecycle: Lifecycle, log: Log
  ) {
    self.clients = clients
    self.journal = journal
    self.starter = starter
    self.lifecycle = lifecycle
    self.log = log
  }

  // MARK: - Requests

  func open(_ submission: Submission, _ request: RequestID, of client: ClientConnection) {
    guard lifecycle.isRunning else {
      return clients.refuse(request, of: client, .stopping, "the coordinator is stopping")
    }
    guard client.submission == nil else {
      return clients.refuse(
        request, of: client, .invalidRequest, "one list at a time on one connection")
    }
    guard (submission.name?.utf8.count ?? 0) <= Self.nameMaximumByteCount else {
      return clients.refuse(
        request, of: client, .invalidRequest,
        "a job's name has at most \(Self.nameMaximumByteCount) bytes")
    }
    let job = journal.takeJobID()
    client.submission = OpenSubmission(request: request, job: job)
    submitters[job] = client.id
    let record = JobRecord(
      id: job, name: submission.name, options: submission.options, order: submission.order,
      pinPolicy: submission.pinPolicy, namesFiles: submission.namesFiles,
      columns: submission.columns, counts: JobCounts(localFiles: 0), submittedAt: .now)
    submit(.createJob(record), of: client)
  }

  func append(_ lines: ListLines, _ request: RequestID, of client: ClientConnection) {
    // After a refusal the rest of the list may still be on its way.
    guard let submission = incompleteSubmission(request, of: client) else { return }
    guard lines.count <= Submission.maximumLineCount else {
      abandon(by: client)
      return clients.refuse(
        request, of: client, .invalidRequest,
        "more than \(Submission.maximumLineCount) lines in one frame")
    }
    guard !lines.isEmpty else { return }
    submit(.appendURLs(submission.job, lines.mapTexts(ImageURL.shortened)), of: client)
  }

  func complete(_ request: RequestID, of client: ClientConnection) {
    guard let submission = incompleteSubmission(request, of: client) else { return }
    client.submission?.complete()
    submit(.seal(submission.job), of: client)
  }

  private func incompleteSubmission(
    _ request: RequestID, of client: ClientConnection
  ) -> OpenSubmission? {
    client.submission.flatMap { $0.request == request && !$0.isComplete ? $0 : nil }
  }

  private func submit(_ operation: JournalOperation, of client: ClientConnection) {
    client.submission?.partWasQueued()
    journal.submit(operation)
    clients.advance(client)
  }

  /// Discards what is written of a list whose client was closed or refused. A complete list is
  /// accepted as soon as it is durable, whether or not its client waits.
  func abandon(by client: ClientConnection) {
    guard let submission = client.submission.take(), !submission.isComplete else { return }
    submitters[submission.job] = nil
    journal.submit(.discard(submission.job))
  }

  // MARK: - The journal's answers

  func partWasWritten(of job: JobID) {
    guard let client = submitter(submitters[job], of: job) else { return }
    client.submission?.partWasWritten()
    clients.advance(client)
  }

  /// The whole list is durable: its job is accepted and runs.
  func wasSealed(_ job: JobID) {
    guard let record = starter.start(job) else { return }
    log.note("job \(record.id) accepted: \(record.counts.total) URLs")
    guard let client = submitter(submitters.removeValue(forKey: job), of: job),
      let submission = client.submission.take()
    else { return }
    clients.send(
      .submitted(submission.request, record.id, total: record.counts.total), to: client)
  }

  func wasRefused(_ job: JobID, because reason: String) {
    journal.submit(.discard(job))
    guard let client = submitter(submitters.removeValue(forKey: job), of: job),
      let submission = client.submission.take()
    else { return }
    clients.refuse(
      submission.request, of: client, .journal, "the list cannot be written: \(reason)")
  }

  /// - Returns: the client; `nil` when it was closed, or sends another list by now.
  private func submitter(_ id: ClientID?, of job: JobID) -> ClientConnection? {
    id.flatMap { clients[$0] }.flatMap { $0.submission?.job == job ? $0 : nil }
  }
}

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

/// Starts jobs whose lists, or whose retries, are durable.
final class JobStarter {
  private let scheduler: SchedulerDriver
  private let journal: JobJournal
  private let lifecycle: Lifecycle
  private let log: Log

  init(scheduler: SchedulerDriver, journal: JobJournal, lifecycle: Lifecycle, log: Log) {
    self.scheduler = scheduler
    self.journal = journal
    self.lifecycle = lifecycle
    self.log = log
  }

  /// - Returns: the job; `nil` when the journal cannot be read, which ends the coordinator.
  @discardableResult
  func start(_ id: JobID) -> JobRecord? {
    do throws(StoreError) {
      guard let record = try journal.stored.job(id) else {
        preconditionFailure("a job that was written is in the journal")
      }
      scheduler.handle(.jobAccepted(record))
      return record
    } catch {
      log.note("job \(id) cannot be read from the journal: \(error)")
      lifecycle.end(status: 1)
      return nil
    }
  }
}
