import ImgModel
import ImgScheduler
import ImgSettings
import ImgStore
import ImgSystem
import ImgWire
import TestFiles

@testable import ImgCoordinator

/// The parts of a coordinator around a journal and a socket of their own, without its loop and
/// without workers.
final class CoordinatorParts {
  let directory = TestDirectory()
  let settings: Settings
  let poller: Poller
  let scheduler: SchedulerDriver
  let lifecycle: Lifecycle
  let files = MemoryFileTable()
  let errors: ErrorStreams
  let workers: WorkerPool
  let sweeps: StoreSweeps
  let journal: JobJournal
  let clients: ClientTable
  let listener: ControlListener
  let requests: ClientRequests

  /// The effects that no part here performs.
  private(set) var otherEffects: [Effect] = []

  struct Quiet: Error {}

  /// - Parameters:
  ///   - clientMaximum: how many clients may connect.
  ///   - workerExecutable: the program that ``workers`` starts.
  init(clientMaximum: Int = 8, workerExecutable: String = "/imgworker") throws {
    var settings = Settings(
      socketPath: directory.file("socket"), dataDirectory: directory.file("data"))
    settings.limits.workers = 1
    settings.limits.clients = clientMaximum
    self.settings = settings
    let log = Log()
    let now = Instant.now
    poller = try Poller()
    scheduler = SchedulerDriver(limits: settings.limits, seed: 1)
    lifecycle = Lifecycle(
      settings, scheduler: scheduler, serviceManager: ServiceManager(environment: [:]), at: now)
    let owned = try DataDirectory(taking: settings)
    journal = try JobJournal(
      Journal(directory: settings.journalDirectory), in: owned, poller: poller, log: log)
    clients = ClientTable(limits: settings.limits, poller: poller, log: log)
    listener = try ControlListener(
      ControlSocket.listen(at: settings.socketPath), at: settings.socketPath, clients: clients,
      poller: poller, log: log)
    errors = ErrorStreams(poller: poller, log: log)
    workers = try WorkerPool(
      executable: workerExecutable, settings: settings, dataDirectory: owned,
      scheduler: scheduler, files: files, lifecycle: lifecycle, errors: errors, poller: poller,
      sandbox: SandboxReport(),
      log: log)
    sweeps = StoreSweeps(
      scheduler: scheduler, workers: workers, journal: journal, lifecycle: lifecycle, at: now)
    requests = ClientRequests(
      clients: clients, scheduler: scheduler, journal: journal, workers: workers, sweeps: sweeps,
      files: files, lifecycle: lifecycle, settings: settings,
      descriptors: DescriptorLimits(maximum: 1 << 20), log: log)
  }

  deinit {
    journal.finish()
  }

  // MARK: - Rounds

  /// Waits for events and handles them, as the loop does.
  ///
  /// - Parameter client: the descriptor of a client that waits for what it can read. A process that another
  ///   test starts holds a copy of a closed connection for a moment, so that its end may come after the round
  ///   in which the coordinator closes it.
  /// - Throws: ``Quiet`` when none comes for a minute.
  func round(watching client: CInt? = nil) throws {
    if let client { try poller.register(client, .read, token: Token.signals.rawValue) }
    defer { if let client { poller.unregister(client) } }
    let ready = try poller.wait(timeout: .seconds(60))
    guard !ready.isEmpty else { throw Quiet() }
    for readiness in ready {
      switch Token(rawValue: readiness.token) {
      case .listener: listener.acceptClients()
      case .journal: handleJournalAnswers()
      case .client(let client): clients.isReady(client, readiness)
      case .workerChannel(let worker): workers.isReady(worker, readiness)
      case .workerExit(let worker): workers.hasExited(worker)
      case .decoderExit(let decoder): workers.decoderHasExited(decoder)
      case .errors(let source): errors.isReady(source, at: .now)
      case .signals, nil: break
      }
    }
    while clients.serveNext(requests.handle) { performEffects() }
    performEffects()
  }

  private func handleJournalAnswers() {
    for answer in journal.takeAnswers() {
      switch answer {
      case .applied(let operations):
        scheduler.handle(.journaled(operations))
        operations.forEach(requests.didBecomeDurable)
      case .refused(let operations, let reason):
        requests.wereRefused(operations, because: reason)
      case .stuck, .restored, .lost:
        break
      }
    }
  }

  /// Performs what the scheduler wants of the parts here.
  func performEffects() {
    repeat {
      while let effect = scheduler.nextEffect() {
        switch effect {
        case .journal(let operation): journal.submit(operation)
        case .answer(let viewer, let outcome, let timings):
          requests.viewers.answer(viewer, outcome, timings)
        case .release(let file): files.release(file)
        case .jobEnded(let record): requests.jobs.jobEnded(record)
        default: otherEffects.append(effect)
        }
      }
      clients.flush()
    } while requests.releaseClosedClients()
  }

  /// Makes the scheduler believe that its worker is ready.
  func makeWorkerReady() {
    scheduler.handle(.began)
    guard case .spawn(let worker, _) = scheduler.nextEffect() else {
      preconditionFailure("the scheduler starts its worker")
    }
    let credits = Credits(lookups: 1, leases: 1, decodeQueueTarget: 1)
    scheduler.handle(.fromWorker(worker, .ready(credits)))
  }

  // MARK: - Clients

  func connect() throws -> TestClient { try TestClient(of: self) }

  /// A client that has greeted.
  func greetedClient() throws -> TestClient {
    let client = try connect()
    try client.send(.hello(Hello(processID: 1)))
    _ = try client.next()
    return client
  }
}

/// A client's end of a connection to the parts of a coordinator, in the same thread.
final class TestClient {
  private let parts: CoordinatorParts
  private let channel: Channel<CoordinatorReply, ClientMessage>
  private var arrived: [CoordinatorReply] = []
  private(set) var isClosed = false
  private var lastRequest: UInt64 = 0

  fileprivate init(of parts: CoordinatorParts) throws {
    self.parts = parts
    channel = try Channel(UnixSocket.connect(path: parts.settings.socketPath))
  }

  func newRequest() -> RequestID {
    lastRequest += 1
    return RequestID(rawValue: lastRequest)
  }

  func send(_ message: ClientMessage, with file: PassedFile? = nil) throws {
    try channel.send(message, with: file)
  }

  /// The next reply; `nil` when the coordinator has closed the connection.
  func next() throws -> CoordinatorReply? {
    while arrived.isEmpty {
      if isClosed { return nil }
      let received = try channel.receive()
      arrived += received.deliveries.map(\.message)
      isClosed = received.isClosed
      if arrived.isEmpty, !isClosed { try parts.round(watching: channel.descriptor) }
    }
    return arrived.removeFirst()
  }

  /// The next reply to what is sent.
  func ask(_ message: ClientMessage) throws -> CoordinatorReply? {
    try send(message)
    return try next()
  }

  /// Submits a list of lines that are no URLs.
  ///
  /// - Returns: its job.
  func submit(_ lines: ListLines) throws -> JobID? {
    let id = newRequest()
    try send(.submit(id, .list()))
    try send(.submitLines(id, lines))
    if case .submitted(_, let job, _) = try ask(.submitEnd(id)) { return job }
    return nil
  }
}

extension Submission {
  static func list(name: String? = nil) -> Submission {
    Submission(name: name, options: RequestOptions(variant: .standard), order: .firstInFirstOut)
  }
}

extension CoordinatorReply {
  /// Why it refuses; `nil` when it does not.
  var refusal: (code: Failure.Code, message: String)? {
    if case .refused(_, let code, let message) = self { (code, message) } else { nil }
  }

  /// The job that it shows; `nil` when it shows none.
  var job: ImageJob? {
    if case .job(_, let job) = self { job } else { nil }
  }
}
