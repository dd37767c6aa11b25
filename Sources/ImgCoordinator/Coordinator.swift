import ImgCore
import ImgModel
import ImgSettings
import ImgStore
import ImgSystem
import ImgTransport
import ImgWire

/// The driver around the scheduler: one loop, one thread. It turns readiness into events, hands
/// them to the scheduler, and carries out the effects; it decides nothing about work.
final class Coordinator {
  enum Phase: Equatable {
    case running
    /// The scheduler finishes what runs.
    case draining(until: ContinuousClock.Instant)
    /// Everything is done; the workers leave.
    case leaving(until: ContinuousClock.Instant)
    case ended(status: Int32)
  }

  let settings: Settings
  let log = Log()
  let poller: Poller
  let signals: SignalSource
  /// See ``checkSocket(at:)``.
  var listener: UnixListener
  let journal: Journal
  let journalAnswers: Mailbox<JournalAnswer>
  let journalWriter: JournalWriter
  let workerExecutable: String
  let serviceManager: ServiceManager
  let startedAt = WallTime(rawValue: WallClock.milliseconds())

  var scheduler: Scheduler
  var phase = Phase.running
  var workers: [WorkerID: WorkerProcess] = [:]
  var clients: [UInt32: ClientConnection] = [:]
  var ledger: ClientLedger
  /// The clients whose requests have arrived and are not served.
  var turns = TurnQueue<UInt32>()
  /// The clients whose lists are being received, by job.
  var submitters: [JobID: UInt32] = [:]
  /// The clients that wait for a picture, with their request.
  var waitingViewers: [ViewerID: (client: UInt32, request: RequestID)] = [:]
  /// Files that the scheduler names, until it releases them.
  var attachments: [AttachmentID: MemoryFile] = [:]
  var lastAttachment: UInt64 = 0
  var pendingChanges: [JobID: PendingChange] = [:]
  /// Pages of lists that the scheduler wants, in their order.
  private var pageRequests: [LinePageRequest] = []
  var lastClient: UInt32 = 0
  var lastViewer: UInt64 = 0
  var nextJob: JobID
  /// Why outcomes cannot be written; `nil` while they can.
  var journalError: String?

  private var events: [Event] = []
  private var isFeeding = false
  private var nextObservation: ContinuousClock.Instant
  private var nextWatch: ContinuousClock.Instant
  var nextSweep: ContinuousClock.Instant
  /// Whether a client waits for the next sweep.
  var isSweepWanted = false
  var messageAllowance = MessageAllowance()
  private var idleSince: ContinuousClock.Instant
  var nextRetention: ContinuousClock.Instant
  /// The last job that retention has looked at; `nil` before the oldest.
  var retentionCursor: JobID?
  /// When new clients are accepted again after that has failed; `nil` while they are.
  var listeningResumes: ContinuousClock.Instant?
  var nextSocketCheck: ContinuousClock.Instant
  /// Why the control socket cannot be created again; `nil` while it is in its place.
  var socketError: String?

  /// How often the watchdog looks at the boards of workers that have work.
  private static let observationInterval = Duration.milliseconds(250)
  /// How often a watching client hears of a change.
  private static let watchInterval = Duration.milliseconds(100)
  /// How long workers that have nothing left to do may take to leave.
  static let leavingTime = Duration.seconds(5)
  /// For the last words to all clients together: one that does not read holds nobody up.
  private static let farewellTime = Duration.seconds(1)

  init(
    settings: Settings, workerExecutable: String, signals: SignalSource,
    listener: consuming UnixListener, dataDirectory: DataDirectory, journal: Journal,
    serviceManager: ServiceManager
  ) throws {
    self.settings = settings
    self.workerExecutable = workerExecutable
    self.signals = signals
    self.listener = listener
    self.journal = journal
    self.serviceManager = serviceManager
    poller = try Poller()
    journalAnswers = try Mailbox()
    journalWriter = try JournalWriter(
      journal: journal, in: dataDirectory, answers: journalAnswers)
    scheduler = Scheduler(
      limits: settings.limits, seed: .random(in: 0...UInt64.max), at: Self.moment)
    ledger = ClientLedger(
      clientMaximum: settings.limits.clients,
      timeout: .milliseconds(settings.limits.clientTimeoutMilliseconds))
    nextJob = try journal.nextJobID()
    let now = ContinuousClock.now
    nextObservation = now
    nextWatch = now
    nextSweep = now
    nextRetention = now
    nextSocketCheck = now
    idleSince = now
    try poller.register(signals.descriptor, .read, token: Token.signals.rawValue)
    try poller.register(journalAnswers.descriptor, .read, token: Token.journal.rawValue)
    try poller.register(self.listener.descriptor, .read, token: Token.listener.rawValue)
  }

  // MARK: - The loop

  /// Runs until the cluster has ended.
  ///
  /// - Returns: the exit status of the process.
  func run() throws -> Int32 {
    feed(.began)
    for job in journal.damagedJobs {
      log.note(
        "job \(job) is damaged in the journal; imgctl recover \(settings.journalDirectory) DIR "
          + "extracts what is intact of it, imgctl remove \(job) removes it")
    }
    for record in try journal.unfinishedJobs() { feed(.jobAccepted(record)) }
    while true {
      if case .ended(let status) = phase { return status }
      let ready = try poller.wait(timeout: timeout())
      // However many clients are ready, workers, the journal and signals come first.
      for readiness in ready where !Token.isOfClients(readiness.token) { handle(readiness) }
      for readiness in ready where Token.isOfClients(readiness.token) { handle(readiness) }
      doWhatIsDue(at: .now)
      readNextPage()
      serveClients()
      endWhenWorkersHaveLeft()
    }
  }

  /// One page a round, so that however much there is to read, everybody else is heard meanwhile.
  private func readNextPage() {
    guard !pageRequests.isEmpty else { return }
    answer(pageRequests.removeFirst())
  }

  private func handle(_ readiness: Poller.Readiness) {
    switch Token(rawValue: readiness.token) {
    case .listener: acceptClients()
    case .signals: signals.take().forEach(received)
    case .journal: journalAnswered()
    case .client(let number): clientIsReady(number, readiness)
    case .workerChannel(let worker): workerIsReady(worker, readiness)
    case .workerExit(let worker): workerHasExited(worker)
    case .workerOutput(let worker): workerOutputIsReady(worker)
    case nil: preconditionFailure("every token is made by Token")
    }
  }

  private func received(signal: CInt) {
    log.note("received signal \(signal)")
    if phase == .running { beginDraining() } else { endNow(status: 0) }
  }

  // MARK: - Time

  private func timeout() -> Duration? {
    let now = ContinuousClock.now
    return deadlines().min().map { max($0 - now, .zero) }
  }

  private func deadlines() -> [ContinuousClock.Instant] {
    guard pageRequests.isEmpty, turns.isEmpty else { return [.now] }
    var deadlines = [nextSocketCheck]
    if let deadline = scheduler.deadline { deadlines.append(deadline) }
    if !scheduler.isIdle { deadlines.append(nextObservation) }
    if clients.values.contains(where: { !$0.watches.isEmpty }) { deadlines.append(nextWatch) }
    if let idleExit = idleExitInstant { deadlines.append(idleExit) }
    if let listeningResumes { deadlines.append(listeningResumes) }
    if let messageDeadline { deadlines.append(messageDeadline) }
    if let deadline = ledger.deadline { deadlines.append(deadline) }
    if let deadline = scheduler.waitReportDeadline { deadlines.append(deadline) }
    if housekeeper != nil { deadlines.append(nextSweep) }
    if hasRetention { deadlines.append(nextRetention) }
    switch phase {
    case .draining(let until), .leaving(let until): deadlines.append(until)
    case .running, .ended: break
    }
    return deadlines
  }

  private func doWhatIsDue(at now: ContinuousClock.Instant) {
    if let deadline = scheduler.deadline, deadline <= now { feed(.timePassed) }
    if nextObservation <= now {
      nextObservation = now + Self.observationInterval
      if !scheduler.isIdle { observeWorkers() }
    }
    if nextWatch <= now {
      nextWatch = now + Self.watchInterval
      tellWatchers()
    }
    if let resumes = listeningResumes, resumes <= now { resumeListening() }
    for (viewer, wait) in scheduler.takeWaitReports(at: now) { tell(viewer, wait) }
    logMessages(at: now)
    closeOverdueClients(at: now)
    if nextSweep <= now { sweep(at: now) }
    if nextRetention <= now { removeOldJobs(at: now) }
    if nextSocketCheck <= now { checkSocket(at: now) }
    if !scheduler.isIdle || !clients.isEmpty { idleSince = now }
    if let idleExit = idleExitInstant, idleExit <= now {
      log.note("nothing to do, nobody connected: leaving")
      beginDraining()
    }
    switch phase {
    case .draining(let until) where until <= now || canOnlyWaitForDisk,
      .leaving(let until) where until <= now:
      endNow(status: 0)
    case .running, .draining, .leaving, .ended:
      break
    }
  }

  /// Whether nothing runs and the journal cannot write: what is not durable is looked up again.
  private var canOnlyWaitForDisk: Bool { journalError != nil && scheduler.leaseCount == 0 }

  /// When a coordinator that was started by itself leaves for want of work.
  private var idleExitInstant: ContinuousClock.Instant? {
    guard phase == .running, let limit = settings.idleExitMilliseconds, scheduler.isIdle,
      clients.isEmpty
    else { return nil }
    return idleSince + .milliseconds(limit)
  }

  // MARK: - Events and effects

  /// Hands an event to the scheduler and carries out what it wants, in order. Effects may lead to
  /// further events, which take their turn.
  func feed(_ event: Event) {
    events.append(event)
    guard !isFeeding else { return }
    isFeeding = true
    defer { isFeeding = false }
    var next = 0
    while next < events.count {
      let effects = scheduler.handle(events[next], at: Self.moment)
      effects.forEach(carryOut)
      next += 1
    }
    events.removeAll(keepingCapacity: true)
  }

  private static var moment: Moment {
    Moment(instant: .now, wall: WallTime(rawValue: WallClock.milliseconds()))
  }

  private func carryOut(_ effect: Effect) {
    switch effect {
    case .send(let message, let worker): send(message, to: worker)
    case .pass(let attachment, let message, let worker):
      send(message, with: file(attachment), to: worker)
    case .spawn(let worker, let slot): spawn(worker, slot: slot)
    case .kill(let worker): workers[worker]?.kill()
    case .readLines(let request): pageRequests.append(request)
    case .journal(let operation): journalWriter.submit(operation)
    case .answer(let viewer, let outcome, let timings): answer(viewer, outcome, timings)
    case .deliver(let attachment, let made, let bytesFetched, let viewer):
      deliver(attachment, made, bytesFetched: bytesFetched, to: viewer)
    case .release(let attachment): attachments[attachment] = nil
    case .jobEnded(let record): jobEnded(record)
    case .storeErrorBegan(let trouble):
      log.note("thumbnails cannot be stored: \(trouble.reason)")
    case .storeErrorEnded(let trouble):
      log.note("thumbnails are stored again; \(trouble.servedCount) were served meanwhile")
    case .recreateStore(let reason): recreateStore(because: reason)
    case .drained: leave()
    case .giveUp(let reason): giveUp("no worker can be kept alive: \(reason)")
    }
  }

  // MARK: - The end

  /// Finishes what runs, within the time that the longest URL may take.
  func beginDraining() {
    guard phase == .running else { return }
    serviceManager.tell(.stopping, status: "finishing what runs")
    let limits = settings.limits
    let longest = limits.transferTimeoutMilliseconds + limits.decodeTimeoutMilliseconds
    phase = .draining(until: .now + .milliseconds(longest) + Self.leavingTime)
    feed(.drainRequested)
  }

  /// Everything is done: the workers have been told to leave.
  private func leave() {
    phase = .leaving(until: .now + Self.leavingTime)
  }

  /// Once the workers have left, whoever waits for the disk hears what it has taken, and then
  /// nothing is left to do.
  private func endWhenWorkersHaveLeft() {
    guard case .leaving = phase, workers.isEmpty else { return }
    phase = .ended(status: 0)
    journalWriter.finish()
    journalAnswered()
    let deadline = ContinuousClock.now + Self.farewellTime
    for client in clients.values { try? client.channel.flush(until: deadline) }
  }

  /// The work cannot go on: whoever waits hears why.
  func giveUp(_ reason: String) {
    log.note("giving up: \(reason)")
    for client in clients.values { dismiss(client, .unavailable, reason) }
    endNow(status: 1)
  }

  /// Ends without waiting for anybody. What is not durable is looked up again at the next start.
  func endNow(status: Int32) {
    workers.values.forEach { $0.kill() }
    phase = .ended(status: status)
  }
}
