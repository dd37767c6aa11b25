import ImgCore
import ImgModel
import ImgStore
import ImgSystem
import ImgWire

/// A change of a job that is not durable yet.
struct PendingChange {
  struct Requester {
    let client: UInt32
    let request: RequestID
  }

  /// Who hears of it; `nil` where the coordinator removes an old job.
  let requester: Requester?
  /// The job before the change.
  let status: JobStatus
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
    case .remove: "removed"
    }
  }
}

/// Changes of jobs: checked against the job as it stands, made durable, then answered.
extension Coordinator {
  func change(_ request: ChangeRequest, for client: ClientConnection) {
    answering(request.id, of: client) { () throws(StoreError) in
      let id = request.job
      guard let status = try status(of: id) else { return unknown(id, request.id) }
      guard pendingChanges[id] == nil else {
        return refusal(of: request, "job \(id) is being changed already; ask again")
      }
      guard let record = try changeableRecord(of: id) else {
        return refusal(of: request, "job \(id) is just beginning or ending; ask again")
      }
      var changed = record
      do throws(JobChangeRefusal) {
        try changed.apply(request.change, at: WallTime(rawValue: WallClock.milliseconds()))
      } catch {
        return refusal(of: request, error.description)
      }
      if let refusal = refusalToWait(request.id, of: client) { return refusal }
      client.changes.insert(request.id)
      pendingChanges[id] = PendingChange(
        requester: .init(client: client.number, request: request.id), status: status)
      begin(request.change, of: record)
      return nil
    }
  }

  /// The job as the journal will have it once all is written that was handed to it; `nil` when its
  /// end is on its way into the journal, or its beginning on the way out.
  private func changeableRecord(of id: JobID) throws(StoreError) -> JobRecord? {
    if scheduler.status(of: id) != nil { return scheduler.changeableRecord(of: id) }
    return try journal.job(id).flatMap { $0.isActive ? nil : $0 }
  }

  private func begin(_ change: JobChange, of record: JobRecord) {
    if record.isActive {
      feed(.changeRequested(record.id, change))
    } else {
      let now = WallTime(rawValue: WallClock.milliseconds())
      journalWriter.submit(.change(record.id, change, at: now))
    }
  }

  /// The answer is the job as it stands now; of one that was removed, as it stood last.
  func changeIsDurable(of id: JobID, _ change: JobChange) {
    if case .retry = change { accept(id) }
    let pending = pendingChanges.removeValue(forKey: id)
    let isByAge = pending != nil && pending?.requester == nil
    log.note("job \(id): \(change.text)" + (isByAge ? ", because of --keep-jobs" : ""))
    guard let pending, let (client, request) = takeRequester(of: pending) else { return }
    answering(request, of: client) { () throws(StoreError) in
      .job(JobReply(id: request, status: try status(of: id) ?? pending.status))
    }
  }

  /// The job is as it was before.
  func changeIsRefused(of id: JobID, _ change: JobChange, because reason: String) {
    feed(.changeRefused(id, change))
    guard let pending = pendingChanges.removeValue(forKey: id),
      let (client, request) = takeRequester(of: pending)
    else { return }
    refuse(
      request, of: client, .journal, "the change of job \(id) cannot be written: \(reason)")
  }

  /// - Returns: `nil` when no client waits for it any more.
  private func takeRequester(of pending: PendingChange) -> (ClientConnection, RequestID)? {
    guard let requester = pending.requester, let client = clients[requester.client] else {
      return nil
    }
    client.changes.remove(requester.request)
    return (client, requester.request)
  }

  private func refusal(of request: ChangeRequest, _ reason: String) -> CoordinatorReply {
    .refused(RequestRefusal(id: request.id, code: .wrongState, message: reason))
  }
}
