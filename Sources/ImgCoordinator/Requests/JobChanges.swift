import ImgModel
import ImgScheduler
import ImgStore
import ImgWire

/// Changes of jobs: checked against the job as it stands, made durable, then answered.
final class JobChanges {
  private var pending = PendingChanges()
  private let clients: ClientTable
  private let scheduler: SchedulerDriver
  private let journal: JobJournal
  private let jobs: JobQueries
  private let starter: JobStarter
  private let log: Log

  init(
    clients: ClientTable, scheduler: SchedulerDriver, journal: JobJournal, jobs: JobQueries,
    starter: JobStarter, log: Log
  ) {
    self.clients = clients
    self.scheduler = scheduler
    self.journal = journal
    self.jobs = jobs
    self.starter = starter
    self.log = log
  }

  // MARK: - Requests

  func begin(_ request: ChangeRequest, for client: ClientConnection) {
    clients.answer(request.id, of: client) { () throws(StoreError) in
      let id = request.job
      guard let status = try jobs.status(of: id) else { return .unknown(id, request.id) }
      guard !pending.contains(id) else {
        return request.refusal("job \(id) is being changed already; ask again")
      }
      guard let record = try changeableRecord(of: id) else {
        return request.refusal("job \(id) is just beginning or ending; ask again")
      }
      var changed = record
      do throws(JobChangeRefusal) {
        try changed.apply(request.change, at: .now)
      } catch {
        return request.refusal(error.description)
      }
      if let refusal = client.refusalToWait(request.id) { return refusal }
      client.pending.addChange(request.id)
      let requester = Requester(client: client.id, request: request.id)
      pending.add(PendingChanges.Change(requester: requester, status: status), of: id)
      submit(request.change, of: record)
      return nil
    }
  }

  /// The job as the journal will have it once everything is written that was handed to it; `nil`
  /// when its end is on its way into the journal, or its beginning on the way out.
  private func changeableRecord(of id: JobID) throws(StoreError) -> JobRecord? {
    if scheduler.state.status(of: id) != nil { return scheduler.state.changeableRecord(of: id) }
    return try journal.stored.job(id).flatMap { $0.isActive ? nil : $0 }
  }

  private func submit(_ change: JobChange, of record: JobRecord) {
    if record.isActive {
      scheduler.handle(.changeRequested(record.id, change))
    } else {
      journal.submit(.change(record.id, change, at: .now))
    }
  }

  /// Removes an old job that has ended, unless a change of it is pending.
  func remove(_ job: JobRecord, at now: WallTime) {
    precondition(!job.isActive, "a job that has not ended stays")
    guard !pending.contains(job.id) else { return }
    // Until the removal is durable, the job takes no other change.
    pending.add(PendingChanges.Change(requester: nil, status: JobStatus(job)), of: job.id)
    journal.submit(.change(job.id, .remove, at: now))
  }

  // MARK: - The journal's answers

  /// Answers with the job as it stands now. A job that was removed is shown as it stood last.
  func didBecomeDurable(_ change: JobChange, of id: JobID) {
    // The job's failures are open again: it runs.
    if case .retry = change { starter.start(id) }
    let ended = pending.remove(id)
    let isByAge = ended != nil && ended?.requester == nil
    log.note("job \(id): \(change.text)" + (isByAge ? ", because of --keep-jobs" : ""))
    guard let ended, let (client, request) = takeRequester(of: ended) else { return }
    clients.answer(request, of: client) { () throws(StoreError) in
      .job(JobReply(id: request, status: try jobs.status(of: id) ?? ended.status))
    }
  }

  /// The job is as it was before.
  func wasRefused(_ change: JobChange, of id: JobID, because reason: String) {
    scheduler.handle(.changeRefused(id, change))
    guard let ended = pending.remove(id), let (client, request) = takeRequester(of: ended)
    else { return }
    clients.refuse(
      request, of: client, .journal, "the change of job \(id) cannot be written: \(reason)")
  }

  /// - Returns: `nil` when no client waits for the change.
  private func takeRequester(
    of change: PendingChanges.Change
  ) -> (ClientConnection, RequestID)? {
    guard let requester = change.requester, let client = clients[requester.client] else {
      return nil
    }
    client.pending.removeChange(requester.request)
    return (client, requester.request)
  }
}

extension ChangeRequest {
  fileprivate func refusal(_ reason: String) -> CoordinatorReply {
    .refused(RequestRefusal(id: id, code: .wrongState, message: reason))
  }
}

extension JobChange {
  /// What was done, in the words of the log.
  fileprivate var text: String {
    switch self {
    case .pause: "paused"
    case .resume: "resumed"
    case .cancel: "cancelled"
    case .retry(let includesFinal):
      includesFinal ? "every failure is tried again" : "failures are tried again"
    case .prioritise(let priority): "has priority \(priority)"
    case .unpin: "pins nothing any more"
    case .remove: "removed"
    }
  }
}
