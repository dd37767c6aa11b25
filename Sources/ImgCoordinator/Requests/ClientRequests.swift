import ImgModel
import ImgScheduler
import ImgSettings
import ImgStore
import ImgSystem
import ImgWire

/// The parts that answer the requests of clients. Hands each request, and each answer of the journal,
/// to its part.
final class ClientRequests {
  let jobs: JobQueries
  let changes: JobChanges
  let viewers: Viewers
  let memory: MemoryShares
  private let submissions: Submissions
  private let cluster: ClusterRequests
  private let clients: ClientTable
  private let storeDirectory: String
  private let proxies: ProxySettings
  private let log: Log

  init(
    clients: ClientTable, scheduler: SchedulerDriver, journal: JobJournal, workers: WorkerPool,
    sweeps: StoreSweeps, files: MemoryFileTable, lifecycle: Lifecycle, settings: Settings,
    descriptors: DescriptorLimits, log: Log
  ) {
    self.clients = clients
    self.log = log
    storeDirectory = settings.storeDirectory
    proxies = settings.proxies
    let starter = JobStarter(
      scheduler: scheduler, journal: journal, lifecycle: lifecycle, log: log)
    submissions = Submissions(
      clients: clients, journal: journal, starter: starter, lifecycle: lifecycle, log: log)
    jobs = JobQueries(clients: clients, scheduler: scheduler, journal: journal, log: log)
    changes = JobChanges(
      clients: clients, scheduler: scheduler, journal: journal, jobs: jobs, starter: starter,
      log: log)
    viewers = Viewers(clients: clients, scheduler: scheduler, files: files)
    memory = MemoryShares(clients: clients, scheduler: scheduler)
    cluster = ClusterRequests(
      clients: clients, scheduler: scheduler, journal: journal, workers: workers,
      sweeps: sweeps, memory: memory, lifecycle: lifecycle, settings: settings,
      descriptors: descriptors, log: log)
  }

  // MARK: - Requests

  func handle(_ delivery: Delivery<ClientMessage>, from client: ClientConnection) {
    if case .hello(let hello) = delivery.message { return greet(client, hello) }
    guard client.hasGreeted else {
      return clients.dismiss(client, .invalidRequest, "the first frame is not a hello")
    }
    switch delivery.message {
    case .hello: break
    case .submit(let id, let submission): submissions.open(submission, id, of: client)
    case .submitLines(let id, let lines): submissions.append(lines, id, of: client)
    case .submitEnd(let id): submissions.complete(id, of: client)
    case .status(let id): cluster.reportStatus(id, to: client)
    case .jobs(let id, let request): jobs.list(request, id, for: client)
    case .job(let id, let job, let isWatching):
      jobs.report(job, isWatching: isWatching, id, to: client)
    case .results(let id, let request): jobs.listResults(request, id, for: client)
    case .change(let id, let change, let job): changes.begin(change, of: job, id, for: client)
    case .limit(let id, let limits): cluster.change(limits, id, for: client)
    case .shareMemory(let id): memory.add(client, id)
    case .get(let id, let request): viewers.get(request, id, for: client)
    case .nextPreview(let id): viewers.sendNextPreview(of: id, to: client)
    case .upload(let id, let request): viewers.upload(request, id, delivery.file, for: client)
    case .readFiles(let id, let job): viewers.readFiles(of: job, id, for: client)
    case .fetched(let id, let picture):
      viewers.takeFetched(picture, id, delivery.file, from: client)
    case .fetchFailed(let id, let failure): viewers.takeFailedFetch(failure, id, from: client)
    case .detach(let id):
      viewers.detach(id, of: client)
      jobs.detach(id, of: client)
    case .forget(let id, let urls): cluster.forgetFailures(of: urls, id, for: client)
    case .sweep(let id): cluster.sweep(id, for: client)
    case .stop(let id): cluster.stop(id, for: client)
    }
  }

  /// Both ends must speak the same protocol. A client of another version learns the coordinator's and
  /// the reason, after which it is closed.
  private func greet(_ client: ClientConnection, _ hello: Hello) {
    let isSame = hello.protocolVersion == Build.protocolVersion
    client.didGreet(inSameProtocol: isSame)
    let answer = Hello(
      processID: ThisProcess.processID, storeDirectory: storeDirectory, proxies: proxies)
    clients.send(.hello(answer), to: client)
    if !isSame {
      clients.dismiss(
        client, .versionMismatch,
        "imgctl \(Build.version) speaks protocol \(Build.protocolVersion), and the client "
          + "\(hello.protocolVersion); use programs of one release")
    }
  }

  // MARK: - The journal's answers

  func didBecomeDurable(_ operation: JournalOperation) {
    switch operation {
    case .createJob, .appendURLs: submissions.partWasWritten(of: operation.job)
    case .seal(let job): submissions.wasSealed(job)
    case .change(let job, let change, _): changes.didBecomeDurable(change, of: job)
    case .start, .record, .finish, .discard: break
    }
  }

  func wereRefused(_ operations: [JournalOperation], because reason: String) {
    for case .change(let job, let change, _) in operations {
      changes.wasRefused(change, of: job, because: reason)
    }
    let submitted = operations.filter(\.isPartOfSubmission)
    for job in Set(submitted.map(\.job)) { submissions.wasRefused(job, because: reason) }
  }

  // MARK: - Closed clients

  /// Drops what closed clients left behind: their viewers leave, their unfinished lists are
  /// discarded, and others get their shares of memory. Their jobs continue.
  ///
  /// - Returns: whether a client had been closed.
  func releaseClosedClients() -> Bool {
    let closed = clients.takeClosed()
    for client in closed {
      submissions.abandon(by: client)
      viewers.remove(of: client)
      memory.remove(client)
    }
    return !closed.isEmpty
  }
}

/// Requests about the cluster as a whole.
final class ClusterRequests {
  private let clients: ClientTable
  private let scheduler: SchedulerDriver
  private let journal: JobJournal
  private let workers: WorkerPool
  private let sweeps: StoreSweeps
  private let memory: MemoryShares
  private let lifecycle: Lifecycle
  private let settings: Settings
  private let descriptors: DescriptorLimits
  private let startedAt: WallTime
  private let log: Log

  init(
    clients: ClientTable, scheduler: SchedulerDriver, journal: JobJournal, workers: WorkerPool,
    sweeps: StoreSweeps, memory: MemoryShares, lifecycle: Lifecycle, settings: Settings,
    descriptors: DescriptorLimits, log: Log
  ) {
    self.clients = clients
    self.scheduler = scheduler
    self.journal = journal
    self.workers = workers
    self.sweeps = sweeps
    self.memory = memory
    self.lifecycle = lifecycle
    self.settings = settings
    self.descriptors = descriptors
    self.log = log
    startedAt = .now
  }

  func reportStatus(_ request: RequestID, to client: ClientConnection) {
    clients.send(.status(request, status), to: client)
  }

  private var status: ClusterStatus {
    let waitingHosts = scheduler.state.waitingHosts(at: .now)
    return ClusterStatus(
      state: lifecycle.isRunning ? .running : .draining, processID: ThisProcess.processID,
      version: Build.version, startedAt: startedAt, socketPath: settings.socketPath,
      dataDirectory: settings.dataDirectory, cacheDirectory: settings.cacheDirectory,
      storeName: settings.storeName,
      workers: scheduler.state.workerStatuses(processes: workers.processes(ofNumber:_:)),
      sandboxes: workers.sandboxes, memory: memory.status,
      transfers: scheduler.state.transferCount,
      slowLineTransfers: scheduler.state.slowLineTransfers,
      activeJobs: scheduler.state.activeJobCount,
      viewers: scheduler.state.viewerCount, lateAnswers: scheduler.state.lateAnswerCount,
      discardedLate: scheduler.state.discardedLateCount, journalError: journal.error,
      storeError: scheduler.state.storeError,
      wait: scheduler.state.clusterWait(journalError: journal.error),
      waitingHosts: waitingHosts.named, moreWaitingHosts: waitingHosts.otherCount,
      limits: scheduler.state.limits,
      settings: settings.reported(workerExecutable: workers.executable))
  }

  /// The limits hold until the coordinator ends; its settings hold when it starts again.
  func change(_ change: LimitChange, _ request: RequestID, for client: ClientConnection) {
    var limits = change
    if change.transfers == LimitChange.unlimitedTransfers {
      limits.transfers = descriptors.permitted(transfers: LimitChange.unlimitedTransfers)
    }
    if let transfers = limits.transfers,
      let reason = descriptors.reasonForRefusing(transfers: transfers)
    {
      return clients.refuse(request, of: client, .invalidRequest, reason)
    }
    log.note(
      "limits changed by process \(client.processID): \(limits.typed.joined(separator: " "))")
    scheduler.handle(.limitsChanged(limits))
    workers.limitBandwidth()
    memory.sharesChanged()
    reportStatus(request, to: client)
  }

  func forgetFailures(of urls: [String], _ request: RequestID, for client: ClientConnection) {
    scheduler.handle(.failuresForgotten(Set(urls)))
    clients.send(.forgotten(request), to: client)
  }

  func sweep(_ request: RequestID, for client: ClientConnection) {
    guard lifecycle.isRunning else {
      return clients.refuse(request, of: client, .stopping, "the coordinator is stopping")
    }
    sweeps.request(at: .now)
    clients.send(.sweeping(request), to: client)
  }

  func stop(_ request: RequestID, for client: ClientConnection) {
    let others = Set(clients.all.map(\.processID)).subtracting([client.processID])
    clients.send(.stopping(request, clients: others.sorted()), to: client)
    log.note("process \(client.processID) asks for the end: leaving")
    lifecycle.drain(because: "stopped by a client, process \(client.processID)")
  }
}

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

  func begin(
    _ change: ImageJobChange, of id: JobID, _ request: RequestID, for client: ClientConnection
  ) {
    clients.answer(request, of: client) { () throws(StoreError) in
      guard let status = try jobs.status(of: id) else { return .unknown(id, request) }
      func refusal(_ reason: String) -> CoordinatorReply {
        .refused(request, .wrongState, message: reason)
      }
      guard !pending.contains(id) else {
        return refusal("job \(id) is being changed already; ask again")
      }
      guard let record = try changeableRecord(of: id) else {
        return refusal("job \(id) is just beginning or ending; ask again")
      }
      var changed = record
      do throws(JobChangeRefusal) {
        try changed.apply(change, at: .now)
      } catch {
        return refusal(error.description)
      }
      if let refusal = client.refusalToWait(request) { return refusal }
      client.pending.addChange(request)
      let requester = Requester(client: client.id, request: request)
      pending.add(PendingChanges.Change(requester: requester, status: status), of: id)
      submit(change, of: record)
      return nil
    }
  }

  /// The job as the journal will have it once everything is written that was handed to it; `nil`
  /// when its end is on its way into the journal, or its beginning on the way out.
  private func changeableRecord(of id: JobID) throws(StoreError) -> JobRecord? {
    if scheduler.state.status(of: id) != nil { return scheduler.state.changeableRecord(of: id) }
    return try journal.stored.job(id).flatMap { $0.isActive ? nil : $0 }
  }

  private func submit(_ change: ImageJobChange, of record: JobRecord) {
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
    pending.add(PendingChanges.Change(requester: nil, status: ImageJob(job)), of: job.id)
    journal.submit(.change(job.id, .remove, at: now))
  }

  // MARK: - The journal's answers

  /// Answers with the job as it stands now. A job that was removed is shown as it stood last.
  func didBecomeDurable(_ change: ImageJobChange, of id: JobID) {
    // The job's failures are open again: it runs.
    if case .retry = change { starter.start(id) }
    let ended = pending.remove(id)
    let isByAge = ended != nil && ended?.requester == nil
    if let text = change.text(before: ended?.status) {
      log.note("job \(id): \(text)" + (isByAge ? ", because of --keep-jobs" : ""))
    }
    guard let ended, let (client, request) = takeRequester(of: ended) else { return }
    clients.answer(request, of: client) { () throws(StoreError) in
      .job(request, try jobs.status(of: id) ?? ended.status)
    }
  }

  /// The job is as it was before.
  func wasRefused(_ change: ImageJobChange, of id: JobID, because reason: String) {
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

extension ImageJobChange {
  /// What was done, in the words of the log; `nil` for a cancellation, whose job has a line at its end.
  ///
  /// - Parameter status: the job before the change; `nil` if it is not known.
  fileprivate func text(before status: ImageJob?) -> String? {
    switch self {
    case .pause: "paused"
    case .resume: "resumed"
    case .cancel: nil
    case .retry(let includesFinal):
      "tried again" + (status.map { Self.retried($0, includesFinal: includesFinal) } ?? "")
    case .setPriority(let priority): "has priority \(priority.rawValue)"
    case .unpin: "pins nothing any more"
    case .remove: "removed"
    }
  }

  private static func retried(_ status: ImageJob, includesFinal: Bool) -> String {
    let counts = [
      (includesFinal ? status.failed : status.retryable, "failed"), (status.cancelled, "cancelled"),
    ]
    return ": " + counts.filter { $0.0 > 0 }.map { "\($0) \($1)" }.joined(separator: ", ")
  }
}

/// Changes of jobs that are not durable yet. A job takes one at a time.
struct PendingChanges {
  struct Change {
    /// The client that asked for it; `nil` when the coordinator removes an old job.
    let requester: Requester?
    /// The job before the change.
    let status: ImageJob
  }

  private var changes: [JobID: Change] = [:]

  func contains(_ job: JobID) -> Bool { changes[job] != nil }

  mutating func add(_ change: Change, of job: JobID) {
    precondition(changes[job] == nil, "a job takes one change at a time")
    changes[job] = change
  }

  /// - Returns: `nil` when no change of the job was pending.
  mutating func remove(_ job: JobID) -> Change? {
    changes.removeValue(forKey: job)
  }
}

/// Shares the memory budget out to the processes that keep pictures in memory.
///
/// All processes have the same share, and the connections of a process divide its share. So a process that opens many
/// connections takes nothing from others. Processes that this PID namespace cannot number count as one.
///
/// There is no minimum: of the standard budget, each of 512 processes has 80 KiB. A cache with such a share keeps
/// small thumbnails alone.
final class MemoryShares {
  private struct Member {
    let request: RequestID
    let processID: Int32
    /// What the client was told last.
    var told: Int64
  }

  private let clients: ClientTable
  private let scheduler: SchedulerDriver
  private var members: [ClientID: Member] = [:]
  /// The connections of each process.
  private var connectionCounts: [Int32: Int] = [:]
  /// Whether a client may have another share than it was told.
  private(set) var hasChanges = false

  init(clients: ClientTable, scheduler: SchedulerDriver) {
    self.clients = clients
    self.scheduler = scheduler
  }

  var status: ClusterStatus.Memory {
    ClusterStatus.Memory(
      processCount: connectionCounts.count, shareByteCount: processShareByteCount)
  }

  private var processShareByteCount: Int64 {
    scheduler.state.limits.memoryBudgetByteCount / Int64(max(1, connectionCounts.count))
  }

  private func shareByteCount(of processID: Int32) -> Int64 {
    processShareByteCount / Int64(connectionCounts[processID] ?? 1)
  }

  // MARK: - Changes

  /// Tells a client its share. The others are told theirs with the next ``tellChanges()``.
  func add(_ client: ClientConnection, _ request: RequestID) {
    if members[client.id] == nil { connectionCounts[client.processID, default: 0] += 1 }
    let share = shareByteCount(of: client.processID)
    members[client.id] = Member(request: request, processID: client.processID, told: share)
    clients.send(.memoryShare(request, byteCount: share), to: client)
    hasChanges = true
  }

  /// A client was closed.
  func remove(_ client: ClientConnection) {
    guard let member = members.removeValue(forKey: client.id),
      let count = connectionCounts[member.processID]
    else { return }
    connectionCounts[member.processID] = count == 1 ? nil : count - 1
    hasChanges = true
  }

  /// The budget may be another one.
  func sharesChanged() {
    hasChanges = true
  }

  /// Tells each client its share if that has changed. One that has not read the last yet is told the newest once it
  /// has, so that a client that reads nothing has one of them in its queue at most.
  func tellChanges() {
    guard hasChanges else { return }
    hasChanges = false
    for (id, member) in members {
      let share = shareByteCount(of: member.processID)
      guard share != member.told, let client = clients[id] else { continue }
      guard !clients.isBehind(client) else {
        hasChanges = true
        continue
      }
      members[id]?.told = share
      clients.send(.memoryShare(member.request, byteCount: share), to: client)
    }
  }
}
