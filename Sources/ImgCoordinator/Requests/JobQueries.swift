@_spi(Coding) import ImgModel
import ImgScheduler
import ImgStore
import ImgWire

/// Requests that read jobs: lists, statuses, results, and watches that last until the job ends.
final class JobQueries {
  private let clients: ClientTable
  private let scheduler: SchedulerDriver
  private let journal: JobJournal
  private let log: Log

  init(clients: ClientTable, scheduler: SchedulerDriver, journal: JobJournal, log: Log) {
    self.clients = clients
    self.scheduler = scheduler
    self.journal = journal
    self.log = log
  }

  // MARK: - Statuses

  /// A job that has not ended, as it stands now; `nil` for any other.
  private func activeStatus(of id: JobID) -> ImageJob? {
    scheduler.state.status(of: id, at: .now, journalError: journal.error)
  }

  /// A job as it stands now, whether it runs or has ended; `nil` when there is none.
  func status(of id: JobID) throws(StoreError) -> ImageJob? {
    if let active = activeStatus(of: id) { return active }
    guard let record = try journal.stored.job(id), record.state != .submitting else { return nil }
    return ImageJob(record)
  }

  // MARK: - Requests

  func list(_ request: JobsRequest, _ id: RequestID, for client: ClientConnection) {
    clients.answer(id, of: client) { () throws(StoreError) in
      // One more than a page holds tells whether there are older ones.
      let count = JobsPage.maximumCount
      let found = try jobs(
        before: request.before, limit: count + 1, isActiveOnly: request.isActiveOnly)
      return .jobs(id, JobsPage(fitting: found.map(\.withoutCookies)))
    }
  }

  private func jobs(
    before id: JobID?, limit: Int, isActiveOnly: Bool
  ) throws(StoreError) -> [ImageJob] {
    if isActiveOnly {
      return scheduler.state.activeJobs(
        before: id, limit: limit, at: .now, journalError: journal.error)
    }
    return try journal.stored.jobs(before: id, limit: limit).map {
      activeStatus(of: $0.id) ?? ImageJob($0)
    }
  }

  func report(
    _ job: JobID, isWatching: Bool, _ id: RequestID, to client: ClientConnection
  ) {
    clients.answer(id, of: client) { () throws(StoreError) in
      guard var status = try status(of: job) else { return .unknown(job, id) }
      if isWatching { status = status.withoutCookies }
      if isWatching, !status.hasEnded {
        if let refusal = client.refusalToWait(id) { return refusal }
        client.pending.addWatch(id, sent: status)
      }
      return .job(id, status)
    }
  }

  func listResults(_ request: ResultsRequest, _ id: RequestID, for client: ClientConnection) {
    clients.answer(id, of: client) { () throws(StoreError) in
      guard let status = try status(of: request.job) else { return .unknown(request.job, id) }
      let page = try journal.stored.results(
        of: request.job, from: request.from, limit: ResultsPage.maximumCount,
        isFailedOnly: request.isFailedOnly)
      let missing: Outcome? = status.state == .cancelled ? .cancelled : nil
      let entries = page.entries.map { $0.with($0.outcome ?? missing) }
      return .results(id, ResultsPage(fitting: entries, next: page.next))
    }
  }

  // MARK: - Watches

  /// Whether a client watches a job.
  var hasWatches: Bool { clients.all.contains { $0.pending.hasWatches } }

  /// The client no longer watches a job by this request. One that has ended stays as it is.
  func detach(_ request: RequestID, of client: ClientConnection) {
    guard client.pending.removeWatch(request) else { return }
    clients.send(.detached(request), to: client)
  }

  /// Sends each watching client the statuses that have changed since its last. A client that has not
  /// read that one yet is sent the newest once it has.
  func updateWatches() {
    // A status costs a look at many queues: one a job, however many clients watch it.
    var statuses: [JobID: ImageJob?] = [:]
    for client in clients.all where !clients.isBehind(client) {
      for watch in client.pending.watches {
        let job = watch.sent.job
        let known: ImageJob? = statuses[job] ?? activeStatus(of: job)?.withoutCookies
        statuses[job] = .some(known)
        guard let status = known, status != watch.sent else { continue }
        client.pending.updateWatch(watch.request, sent: status)
        clients.send(.job(watch.request, status), to: client)
      }
    }
  }

  /// The end of a job is durable: its watches end.
  func jobEnded(_ record: JobRecord) {
    let status = ImageJob(record).withoutCookies
    log.note(
      "job \(record.id) is \(status.state.rawValue): \(status.done) done, "
        + "\(status.failed) failed, \(status.cancelled) cancelled")
    for client in clients.all {
      for request in client.pending.removeWatches(of: record.id) {
        clients.send(.job(request, status), to: client)
      }
    }
  }
}

extension ClientTable {
  /// Sends what `reply` makes, or why the journal cannot be read. Sends nothing for `nil`.
  func answer(
    _ request: RequestID, of client: ClientConnection,
    _ reply: () throws(StoreError) -> CoordinatorReply?
  ) {
    do throws(StoreError) {
      if let reply = try reply() { send(reply, to: client) }
    } catch {
      refuse(request, of: client, .journal, error.description)
    }
  }
}

extension CoordinatorReply {
  static func unknown(_ job: JobID, _ request: RequestID) -> CoordinatorReply {
    .refused(request, .unknownJob, message: "there is no job \(job)")
  }
}

extension JobsPage {
  /// As many of the jobs as a page holds, whatever their names, headers and failures are. There is one at least.
  init(fitting jobs: [ImageJob]) {
    var byteCount = 0
    let fitting = jobs.prefix(Self.maximumCount).prefix { job in
      let isFirst = byteCount == 0
      byteCount += Fields.json(of: job).count
      return isFirst || byteCount <= Self.maximumByteCount
    }
    self.init(jobs: Array(fitting), hasMore: fitting.count < jobs.count)
  }
}

extension ResultsPage {
  /// As many of the entries as fit a frame, whatever their lines are. There is one at least.
  init(fitting entries: [LineResult], next: Int?) {
    var byteCount = 0
    let fitting = entries.prefix { entry in
      let isFirst = byteCount == 0
      byteCount +=
        entry.url.utf8.count + entry.line.columns.json.utf8.count + Failure.maximumDetailByteCount
      return isFirst || byteCount <= Self.maximumByteCount
    }
    let isCut = fitting.count < entries.count
    self.init(entries: Array(fitting), next: isCut ? entries[fitting.count].index : next)
  }
}
