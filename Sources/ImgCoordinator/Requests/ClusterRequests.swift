import ImgModel
import ImgScheduler
import ImgSettings
import ImgSystem
import ImgWire

/// Requests about the cluster as a whole.
final class ClusterRequests {
  private let clients: ClientTable
  private let scheduler: SchedulerDriver
  private let journal: JobJournal
  private let workers: WorkerPool
  private let sweeps: StoreSweeps
  private let lifecycle: Lifecycle
  private let settings: Settings
  private let descriptors: DescriptorLimits
  private let startedAt: WallTime
  private let log: Log

  init(
    clients: ClientTable, scheduler: SchedulerDriver, journal: JobJournal, workers: WorkerPool,
    sweeps: StoreSweeps, lifecycle: Lifecycle, settings: Settings,
    descriptors: DescriptorLimits, log: Log
  ) {
    self.clients = clients
    self.scheduler = scheduler
    self.journal = journal
    self.workers = workers
    self.sweeps = sweeps
    self.lifecycle = lifecycle
    self.settings = settings
    self.descriptors = descriptors
    self.log = log
    startedAt = .now
  }

  func reportStatus(_ request: RequestID, to client: ClientConnection) {
    clients.send(.status(ClusterReply(id: request, cluster: status)), to: client)
  }

  private var status: ClusterStatus {
    let state = scheduler.state
    return ClusterStatus(
      state: lifecycle.isRunning ? .running : .draining, processID: ThisProcess.processID,
      version: Build.version, startedAt: startedAt, socketPath: settings.socketPath,
      dataDirectory: settings.dataDirectory,
      workers: state.workerStatuses(processes: workers.processes(ofNumber:_:)),
      sandboxes: workers.sandboxes,
      transfers: state.transferCount, activeJobs: state.activeJobCount,
      viewers: state.viewerCount, lateAnswers: state.lateAnswerCount,
      discardedLate: state.discardedLateCount, journalError: journal.error,
      storeError: state.storeError, wait: state.clusterWait(journalError: journal.error),
      waitingHosts: state.waitingHosts(at: .now), limits: state.limits,
      settings: settings.reported(workerExecutable: workers.executable))
  }

  /// The limits hold until the coordinator ends; its settings hold when it starts again.
  func changeLimits(_ request: LimitRequest, for client: ClientConnection) {
    if let transfers = request.limits.transfers,
      let reason = descriptors.reasonForRefusing(transfers: transfers)
    {
      return clients.refuse(request.id, of: client, .invalidRequest, reason)
    }
    log.note("limits changed by client \(client.id)")
    scheduler.handle(.limitsChanged(request.limits))
    reportStatus(request.id, to: client)
  }

  func forgetFailures(_ request: ForgetRequest, for client: ClientConnection) {
    scheduler.handle(.failuresForgotten(Set(request.urls)))
    clients.send(.forgotten(PlainRequest(id: request.id)), to: client)
  }

  func sweep(_ request: RequestID, for client: ClientConnection) {
    guard lifecycle.isRunning else {
      return clients.refuse(request, of: client, .stopping, "the coordinator is stopping")
    }
    sweeps.request(at: .now)
    clients.send(.sweeping(PlainRequest(id: request)), to: client)
  }

  func stop(_ request: PlainRequest, for client: ClientConnection) {
    clients.send(.stopping(request), to: client)
    lifecycle.drain()
  }
}
