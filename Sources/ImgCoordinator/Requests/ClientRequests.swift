import ImgModel
import ImgScheduler
import ImgSettings
import ImgSystem
import ImgTransport
import ImgWire

/// The parts that answer the requests of clients. Hands each request, and each answer of the journal,
/// to its part.
final class ClientRequests {
  let jobs: JobQueries
  let changes: JobChanges
  let viewers: Viewers
  private let submissions: Submissions
  private let cluster: ClusterRequests
  private let clients: ClientTable
  private let storeDirectory: String
  private let log: Log

  init(
    clients: ClientTable, scheduler: SchedulerDriver, journal: JobJournal, workers: WorkerPool,
    sweeps: StoreSweeps, files: MemoryFileTable, lifecycle: Lifecycle, settings: Settings,
    descriptors: DescriptorLimits, log: Log
  ) {
    self.clients = clients
    self.log = log
    storeDirectory = settings.storeDirectory
    let starter = JobStarter(
      scheduler: scheduler, journal: journal, lifecycle: lifecycle, log: log)
    submissions = Submissions(
      clients: clients, journal: journal, starter: starter, lifecycle: lifecycle, log: log)
    jobs = JobQueries(clients: clients, scheduler: scheduler, journal: journal, log: log)
    changes = JobChanges(
      clients: clients, scheduler: scheduler, journal: journal, jobs: jobs, starter: starter,
      log: log)
    viewers = Viewers(clients: clients, scheduler: scheduler, files: files)
    cluster = ClusterRequests(
      clients: clients, scheduler: scheduler, journal: journal, workers: workers,
      sweeps: sweeps, lifecycle: lifecycle, settings: settings, descriptors: descriptors, log: log)
  }

  // MARK: - Requests

  func handle(_ delivery: Delivery<ClientMessage>, from client: ClientConnection) {
    if case .hello(let hello) = delivery.message { return greet(client, hello) }
    guard client.hasGreeted else {
      return clients.dismiss(client, .invalidRequest, "the first frame is not a hello")
    }
    switch delivery.message {
    case .hello: break
    case .submit(let submission): submissions.open(submission, of: client)
    case .submitLines(let lines): submissions.append(lines, of: client)
    case .submitEnd(let request): submissions.complete(request.id, of: client)
    case .status(let request): cluster.reportStatus(request.id, to: client)
    case .jobs(let request): jobs.list(request, for: client)
    case .job(let request): jobs.report(request, to: client)
    case .results(let request): jobs.listResults(request, for: client)
    case .change(let request): changes.begin(request, for: client)
    case .limit(let request): cluster.changeLimits(request, for: client)
    case .get(let request): viewers.get(request, for: client)
    case .nextPreview(let request): viewers.sendNextPreview(of: request.id, to: client)
    case .upload(let request): viewers.upload(request, delivery.file, for: client)
    case .detach(let request):
      viewers.detach(request.id, of: client)
      jobs.detach(request.id, of: client)
    case .forget(let request): cluster.forgetFailures(request, for: client)
    case .sweep(let request): cluster.sweep(request.id, for: client)
    case .stop(let request): cluster.stop(request, for: client)
    }
  }

  /// Both ends must speak the same protocol. A client of another version learns the coordinator's
  /// and can say what to do.
  private func greet(_ client: ClientConnection, _ hello: Hello) {
    let isSame = hello.protocolVersion == Build.protocolVersion
    client.didGreet(inSameProtocol: isSame)
    let answer = Hello(processID: ThisProcess.processID, storeDirectory: storeDirectory)
    clients.send(.hello(answer), to: client)
    if !isSame {
      log.note("client \(client.id) speaks protocol \(hello.protocolVersion): closed")
      clients.closeWhenRead(client)
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

  /// Drops what closed clients left behind: their viewers leave, and their unfinished lists are
  /// discarded. Their jobs continue.
  ///
  /// - Returns: whether a client had been closed.
  func releaseClosedClients() -> Bool {
    let closed = clients.takeClosed()
    for client in closed {
      submissions.abandon(by: client)
      viewers.remove(of: client)
    }
    return !closed.isEmpty
  }
}
