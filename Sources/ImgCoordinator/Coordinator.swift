import Glibc
import ImgModel
import ImgScheduler
import ImgSettings
import ImgStore
import ImgSystem
import ImgWire
import Synchronization

/// The coordinator's loop: one thread that waits for events, hands each to the part it concerns, and
/// performs the effects that the scheduler wants. It decides nothing about work.
final class Coordinator {
  private let settings: Settings
  private let log: Log
  private let poller: Poller
  private let signals: SignalSource
  private let scheduler: SchedulerDriver
  private let lifecycle: Lifecycle
  private let files = MemoryFileTable()
  private let journal: JobJournal
  private let lines: LineReader
  private let errors: ErrorStreams
  private let workers: WorkerPool
  private let sweeps: StoreSweeps
  private let clients: ClientTable
  private let listener: ControlListener
  private let requests: ClientRequests
  private let retention: JobRetention
  /// How often the watchdog looks at the heartbeat pages of workers that have work.
  private var observation: IntervalTimer
  /// How often clients are sent changes of watched jobs and of their shares of memory.
  private var watchUpdate: IntervalTimer
  private var roomLog = StoreRoomLog()

  /// How long requests are served before the loop looks at the workers and the other clients again.
  private static let servingTime = Duration.milliseconds(10)
  /// How long messages to workers wait for those of the next requests, with which they share a system
  /// call and a wake-up.
  private static let longestMessageWait = Duration.microseconds(500)
  /// For the last replies to all clients together, however many of them do not read.
  private static let finalFlushTime = Duration.seconds(1)

  init(
    settings: Settings, workerExecutable: String, signals: SignalSource,
    listener: consuming UnixListener, dataDirectory: DataDirectory, journal: Journal,
    serviceManager: ServiceManager, descriptors: DescriptorLimits, sandbox: SandboxReport, log: Log
  ) throws {
    let now = Instant.now
    self.settings = settings
    self.log = log
    self.signals = signals
    poller = try Poller()
    try poller.register(signals.descriptor, .read, token: Token.signals.rawValue)
    scheduler = SchedulerDriver(limits: settings.limits, proxies: settings.proxies)
    lifecycle = Lifecycle(
      settings, scheduler: scheduler, serviceManager: serviceManager, at: now)
    self.journal = try JobJournal(journal, in: dataDirectory, poller: poller, log: log)
    lines = LineReader(
      scheduler: scheduler, journal: self.journal, lifecycle: lifecycle, log: log)
    errors = ErrorStreams(poller: poller, log: log)
    workers = try WorkerPool(
      executable: workerExecutable, settings: settings, dataDirectory: dataDirectory,
      scheduler: scheduler, files: files, lifecycle: lifecycle, errors: errors, poller: poller,
      sandbox: sandbox,
      log: log)
    sweeps = StoreSweeps(
      scheduler: scheduler, workers: workers, journal: self.journal, lifecycle: lifecycle, at: now)
    clients = ClientTable(limits: settings.limits, poller: poller, log: log)
    self.listener = try ControlListener(
      listener, at: settings.socketPath, clients: clients, poller: poller, log: log)
    requests = ClientRequests(
      clients: clients, scheduler: scheduler, journal: self.journal, workers: workers,
      sweeps: sweeps, files: files, lifecycle: lifecycle, settings: settings,
      descriptors: descriptors, log: log)
    retention = JobRetention(
      keptTime: settings.limits.keepJobs, journal: self.journal,
      changes: requests.changes, lifecycle: lifecycle, at: now)
    observation = IntervalTimer(every: .milliseconds(250), from: now)
    watchUpdate = IntervalTimer(every: .milliseconds(100), from: now)
  }

  // MARK: - The loop

  /// Runs until the cluster has ended.
  ///
  /// - Returns: the exit status of the process.
  func run() throws -> Int32 {
    try start()
    while true {
      if let status = lifecycle.exitStatus {
        workers.killAll()
        if let reason = lifecycle.endReason { log.note("ended: \(reason)") }
        return status
      }
      let ready = try poller.wait(timeout: timeout())
      // However many clients are ready, workers, the journal and signals come first.
      for readiness in ready where !Token.isOfClientsOrListener(readiness.token) {
        handle(readiness)
      }
      for readiness in ready where Token.isOfClientsOrListener(readiness.token) {
        handle(readiness)
      }
      doWhatIsDue(at: .now)
      lines.readNext()
      performEffects()
      serveClients()
      writeOutcomesIfDue(at: .now)
      endWhenWorkersHaveLeft()
    }
  }

  private func start() throws(StoreError) {
    scheduler.handle(.began)
    for job in journal.stored.damagedJobs {
      log.note(
        "job \(job) is damaged in the journal; imgctl recover \(settings.journalDirectory.shellWord) "
          + "DIR extracts what is intact of it, imgctl remove \(job) removes it")
    }
    let jobs = try journal.stored.unfinishedJobs()
    for record in jobs { scheduler.handle(.jobAccepted(record)) }
    if !jobs.isEmpty {
      let counts = jobs.map(\.counts)
      let waitingCount = counts.reduce(0) { $0 + $1.total - $1.finished }
      log.note("the journal has unfinished jobs: \(jobs.count), URLs that wait: \(waitingCount)")
    }
    performEffects()
  }

  private func handle(_ readiness: Poller.Readiness) {
    switch Token(rawValue: readiness.token) {
    case .listener: listener.acceptClients()
    case .signals: signals.take().forEach(receive)
    case .journal: handleJournalAnswers()
    case .client(let client): clients.isReady(client, readiness)
    case .workerChannel(let worker): workers.isReady(worker, readiness)
    case .workerExit(let worker): workers.hasExited(worker)
    case .decoderExit(let decoder): workers.decoderHasExited(decoder)
    case .errors(let source): errors.isReady(source, at: .now)
    case nil: preconditionFailure("every token is made by Token")
    }
    performEffects()
  }

  private func receive(signal: CInt) {
    let name = Signal.name(of: signal) ?? "signal \(signal)"
    log.note("received \(name)")
    if lifecycle.isRunning {
      lifecycle.drain(because: name)
    } else {
      lifecycle.end(status: 0)
    }
  }

  /// Serves the clients in turn, one request each, until none waits or the time of a round is over.
  private func serveClients() {
    var now = Instant.now
    let end = now + Self.servingTime
    var flushTime = now + Self.longestMessageWait
    repeat {
      clients.closeHeaviest()
      guard clients.serveNext(requests.handle) else { break }
      now = .now
      performEffects(flushingWorkers: flushTime <= now)
      if flushTime <= now { flushTime = now + Self.longestMessageWait }
    } while now < end
    performEffects()
  }

  // MARK: - Time

  private func timeout() -> Duration? {
    let now = Instant.now
    return deadlines(at: now).min().map { max($0 - now, .zero) }
  }

  private func deadlines(at now: Instant) -> [Instant] {
    guard lines.isIdle, !clients.hasTurns else { return [now] }
    let isIdle = scheduler.state.isIdle
    let deadlines: [Instant?] = [
      scheduler.state.deadline, isIdle ? nil : observation.deadline,
      requests.jobs.hasWatches || requests.memory.hasChanges ? watchUpdate.deadline : nil,
      isIdle && clients.isEmpty ? lifecycle.idleDeadline : nil,
      listener.deadline, errors.deadline(at: now), workers.decoderDeadline, clients.deadline,
      requests.viewers.deadline, sweeps.deadline, retention.deadline, lifecycle.deadline,
      journal.deadline,
    ]
    return deadlines.compactMap(\.self)
  }

  private func doWhatIsDue(at now: Instant) {
    if let deadline = scheduler.state.deadline, deadline <= now { scheduler.handle(.timePassed) }
    if observation.fires(at: now), !scheduler.state.isIdle { workers.observe() }
    performEffects()
    if watchUpdate.fires(at: now) {
      requests.jobs.updateWatches()
      requests.memory.tellChanges()
    }
    requests.viewers.reportWaits(at: now)
    listener.doWhatIsDue(at: now)
    errors.doWhatIsDue(at: now)
    workers.startDecoders(at: now)
    clients.closeOverdue(at: now)
    sweeps.sweep(at: now)
    roomLog.update(scheduler.state, log)
    retention.removeOldJobs(at: now)
    leaveWhenIdle(at: now)
    if lifecycle.isOverdue(at: now) || canOnlyWaitForDisk { lifecycle.end(status: 0) }
    performEffects()
  }

  private func leaveWhenIdle(at now: Instant) {
    let isIdle = scheduler.state.isIdle && clients.isEmpty
    lifecycle.update(isIdle: isIdle, at: now)
    guard isIdle, let deadline = lifecycle.idleDeadline, deadline <= now else { return }
    log.note("no work and no client: leaving")
    lifecycle.drain(because: "idle, no work and no client")
  }

  /// Whether a drain waits for the journal alone, which cannot write. What is not durable is looked
  /// up again at the next start.
  private var canOnlyWaitForDisk: Bool {
    guard case .draining = lifecycle.phase else { return false }
    return journal.error != nil && scheduler.state.leaseCount == 0
  }

  // MARK: - Effects

  /// Performs what the scheduler wants, and what follows from that, until nothing is left.
  ///
  /// - Parameter flushingWorkers: whether the workers get their messages now. Clients get theirs in any
  ///   case, because one that has replies to read is not served.
  private func performEffects(flushingWorkers: Bool = true) {
    repeat {
      while let effect = scheduler.nextEffect() { perform(effect) }
      if flushingWorkers { workers.flush() }
      clients.flush()
    } while requests.releaseClosedClients()
  }

  private func perform(_ effect: Effect) {
    switch effect {
    case .send(let message, let worker): workers.send(message, to: worker)
    case .pass(let file, let message, let worker):
      workers.send(message, with: files[file], to: worker)
    case .spawn(let worker, let number): workers.spawn(worker, number: number)
    case .kill(let worker): workers.kill(worker)
    case .readLines(let request): lines.add(request)
    case .journal(let operation): journal.submit(operation)
    case .answer(let viewer, let outcome, let timings):
      requests.viewers.answer(viewer, outcome, timings)
    case .deliver(let file, let made, let bytesFetched, let viewer):
      requests.viewers.deliver(file, made, bytesFetched: bytesFetched, to: viewer)
    case .show(let file, let thumbnail, let viewer):
      requests.viewers.show(file, thumbnail, to: viewer)
    case .reportProgress(let progress, let viewer):
      requests.viewers.report(progress, to: viewer)
    case .askToFetch(let viewer, let limit): requests.viewers.askToFetch(viewer, within: limit)
    case .askToRead(let reader, let file, let limit):
      requests.viewers.askToFetch(reader, file, within: limit)
    case .readingEnded(let reader): requests.viewers.endReading(reader)
    case .release(let file): files.release(file)
    case .jobEnded(let record):
      requests.jobs.jobEnded(record)
      if record.pinPolicy == .whileActive { sweeps.pinsEnded(at: .now) }
    case .storeErrorBegan(let error):
      log.note("thumbnails cannot be stored: \(error.reason)")
    case .storeErrorEnded(let error):
      log.note("thumbnails are stored again; \(error.servedCount) were served meanwhile")
    case .networkChanged(let news), .hostChanged(let news): log.note(news)
    case .recreateStore(let reason): removeStore(because: reason)
    case .drained: lifecycle.leave()
    case .noWorkers(let reason): fail(because: "no worker can be kept alive: \(reason)")
    }
  }

  /// Removes a store on which workers crash. Workers that have it open notice, and one of them
  /// creates the next.
  private func removeStore(because reason: String) {
    do throws(StoreError) {
      guard try SharedStore.remove(settings.storeDirectory) else { return }
      log.note("the store in \(settings.storeDirectory) is damaged and was removed: \(reason)")
    } catch {
      log.note("the store is damaged and cannot be removed: \(error)")
    }
  }

  // MARK: - The journal's answers

  private func handleJournalAnswers() {
    for answer in journal.takeAnswers() {
      switch answer {
      case .applied(let operations):
        scheduler.handle(.journaled(operations))
        performEffects()
        operations.forEach(requests.didBecomeDurable)
        if operations.contains(where: \.endsPins) { sweeps.pinsEnded(at: .now) }
      case .refused(let operations, let reason):
        requests.wereRefused(operations, because: reason)
      case .stuck, .restored:
        break
      case .lost(let reason):
        fail(because: reason)
      }
    }
  }

  /// Has outcomes written that have waited long enough, or for which no further ones are on their way.
  private func writeOutcomesIfDue(at now: Instant) {
    guard let deadline = journal.deadline,
      deadline <= now || scheduler.state.leaseCount == 0
    else { return }
    journal.writeOutcomes()
  }

  // MARK: - The end

  /// Once the workers have left, writes the rest of the journal and sends the clients that wait for
  /// it their replies.
  private func endWhenWorkersHaveLeft() {
    guard case .leaving = lifecycle.phase, workers.isEmpty else { return }
    lifecycle.end(status: 0)
    journal.finish()
    handleJournalAnswers()
    performEffects()
    clients.flush(until: .now + Self.finalFlushTime)
  }

  /// The work cannot continue: every client is told why.
  private func fail(because reason: String) {
    log.note("giving up: \(reason)")
    for client in clients.all { clients.dismiss(client, .unavailable, reason) }
    lifecycle.end(status: 1)
  }
}

/// A step of the loop that repeats.
struct IntervalTimer {
  let interval: Duration
  /// When the step is due.
  private(set) var deadline: Instant

  /// - Parameter now: when the step is due for the first time.
  init(every interval: Duration, from now: Instant) {
    self.interval = interval
    deadline = now
  }

  /// Whether the step is due; then it is due again after the interval.
  mutating func fires(at now: Instant) -> Bool {
    guard deadline <= now else { return false }
    deadline = now + interval
    return true
  }
}

/// The log of the coordinator: one line an event on standard error. For a service that is systemd's
/// journal, for a coordinator that a command started the file `coordinator.log`.
struct Log {
  /// The words behind `imgctl` of the commands that its messages advise.
  private static let advisedCommands = [
    "cache", "export", "remove", "retry", "start", "stop", "unpin",
  ]

  private let descriptor: CInt
  private let place: String
  private let end = LogEnd()

  /// - Parameter place: the flag that the commands in it carry, to reach this coordinator; empty for none.
  init(descriptor: CInt = STDERR_FILENO, place: String = "") {
    self.descriptor = descriptor
    self.place = place
  }

  func note(_ message: String) {
    write("\(WallTime.now) imgcoordinator: \(completed(message))")
  }

  private func completed(_ message: String) -> String {
    guard !place.isEmpty else { return message }
    return Self.advisedCommands.reduce(message) {
      $0.replacing("imgctl \($1)", with: "imgctl \(place) \($1)")
    }
  }

  /// Writes a line that has its time and program.
  func write(_ line: String) {
    let text = "\(line.withoutPasswords.printable)\n"
    // A log that cannot be written must not stop the work, and no other place would be read.
    do throws(SystemError) {
      try FileIO.writeAll(descriptor, end.isCut.load(ordering: .relaxed) ? "\n" + text : text)
      end.isCut.store(false, ordering: .relaxed)
    } catch {
      end.isCut.store(true, ordering: .relaxed)
    }
  }
}

/// What all copies of a log know of its end.
private final class LogEnd: Sendable {
  /// Whether a full disk may have cut its last line.
  let isCut = Atomic(false)
}

/// Says in the log, once each, when the disk limits the store, when jobs wait for room in it, and when that ends.
struct StoreRoomLog {
  private var isLimitedByDisk = false
  private var areJobsWaiting = false

  mutating func update(_ state: borrowing Scheduler, _ log: Log) {
    if let report = state.storeReport, isLimitedByDisk != (report.diskByteCount != nil) {
      isLimitedByDisk.toggle()
      log.note(
        report.diskByteCount.map { byteCount in
          "the disk is short of space: it has room for \(byteCount >> 10) KiB of the store's budget of "
            + "\(report.budgetByteCount >> 10) KiB; free space on it"
        } ?? "the disk has room for the store's budget again")
    }
    guard areJobsWaiting != state.areJobsHeld else { return }
    areJobsWaiting.toggle()
    log.note(
      areJobsWaiting
        ? "jobs wait for room in the store: "
          + (state.storeReport?.pinShortage
            ?? "pins use it up; imgctl export JOB DIR or imgctl unpin JOB makes room")
        : "no job waits for room in the store any more")
  }
}

/// The memory files that pass through, by the identifiers that the scheduler knows. A file stays
/// until the scheduler releases it.
final class MemoryFileTable {
  private var files: [MemoryFileID: PassedFile] = [:]
  private var last: UInt64 = 0

  var count: Int { files.count }

  func add(_ file: PassedFile) -> MemoryFileID {
    last += 1
    let id = MemoryFileID(rawValue: last)
    files[id] = file
    return id
  }

  subscript(id: MemoryFileID) -> PassedFile {
    guard let file = files[id] else {
      preconditionFailure("a memory file is there until it is released")
    }
    return file
  }

  func release(_ id: MemoryFileID) {
    let file = files.removeValue(forKey: id)
    precondition(file != nil, "a memory file is released once")
  }
}

/// The scheduler and its effects that are not performed yet.
///
/// An event changes the scheduler at once. Its effects wait here until the loop takes them, in the
/// order of their events: an effect never runs inside another one.
final class SchedulerDriver {
  /// What the scheduler knows, for reports.
  private(set) var state: Scheduler
  private var effects: [Effect] = []
  /// Index in `effects` of the first that was not taken.
  private var next = 0

  init(
    limits: Limits, proxies: ProxySettings = .none, seed: UInt64 = .random(in: 0...UInt64.max)
  ) {
    state = Scheduler(limits: limits, seed: seed, proxies: proxies, at: .now)
  }

  func handle(_ event: Event) {
    let wanted = state.handle(event, at: .now)
    if next == effects.count {
      effects = wanted
      next = 0
    } else {
      effects += wanted
    }
  }

  /// Takes the oldest effect; `nil` when none waits.
  func nextEffect() -> Effect? {
    guard next < effects.count else { return nil }
    defer { next += 1 }
    return effects[next]
  }

  /// What viewers wait for, as far as it is news to their clients.
  func takeWaitReports(at now: Instant) -> [(viewer: ViewerID, wait: Wait)] {
    state.takeWaitReports(at: now)
  }
}
