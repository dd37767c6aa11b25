import Glibc
import ImgModel
import ImgScheduler
import ImgSettings
import ImgStore
import ImgSystem
import ImgWire

/// The worker processes: started, sent messages, heard and reaped. What they say and how they end
/// become events of the scheduler. What they want of decoders goes to ``DecoderChildren``.
final class WorkerPool {
  /// The path of `imgworker`.
  let executable: String
  private let decoders: DecoderChildren
  private var sandboxReports: SandboxReports
  private var workers: [WorkerID: WorkerProcess] = [:]
  /// The workers with messages that ``flush()`` sends.
  private var unflushed: Set<WorkerID> = []
  private let settings: Settings
  private let dataDirectory: DataDirectory
  private let scheduler: SchedulerDriver
  private let files: MemoryFileTable
  private let lifecycle: Lifecycle
  private let errors: ErrorStreams
  private let bandwidth: SharedBandwidth
  private let poller: Poller
  private let log: Log

  init(
    executable: String, settings: Settings, dataDirectory: DataDirectory,
    scheduler: SchedulerDriver, files: MemoryFileTable, lifecycle: Lifecycle, errors: ErrorStreams,
    poller: Poller,
    sandbox: SandboxReport, log: Log
  ) throws(SystemError) {
    bandwidth = try SharedBandwidth()
    self.executable = executable
    sandboxReports = SandboxReports(coordinator: sandbox)
    // The programs are installed together.
    let directory = executable.prefix(through: executable.lastIndex(of: "/") ?? executable.endIndex)
    decoders = DecoderChildren(
      executable: "\(directory)imgdecoder", errors: errors, poller: poller, log: log)
    self.settings = settings
    self.dataDirectory = dataDirectory
    self.scheduler = scheduler
    self.files = files
    self.lifecycle = lifecycle
    self.errors = errors
    self.poller = poller
    self.log = log
    limitBandwidth()
  }

  /// From now on the limits of bandwidth hold that the scheduler has.
  func limitBandwidth() {
    let limits = scheduler.state.limits
    bandwidth.setRates(
      SharedBandwidth.Rates(whole: limits.bytesPerSecond, perHost: limits.hostBytesPerSecond),
      at: MonotonicClock.nanoseconds())
  }

  var isEmpty: Bool { workers.isEmpty && decoders.isEmpty }

  /// The processes of a worker number.
  ///
  /// - Parameter id: the worker with that number; `nil` while there is none.
  func processes(ofNumber number: Int, _ id: WorkerID?) -> ClusterStatus.Worker.Processes {
    ClusterStatus.Worker.Processes(
      worker: id.flatMap { workers[$0]?.processID },
      decoders: id.map(decoders.processIDs(of:)) ?? [],
      decoderDeaths: decoders.deathCount(ofNumber: number))
  }

  /// What confines the processes.
  var sandboxes: ClusterStatus.Sandboxes { sandboxReports.status }

  // MARK: - Start and end

  func spawn(_ id: WorkerID, number: Int) {
    precondition(workers[id] == nil, "a worker is started once")
    do throws(DataDirectoryError) {
      // A worker reaches the directory of the store that is there when it starts.
      if let sentence = try dataDirectory.restore() { log.note(sentence) }
    } catch {
      log.note("worker \(number) cannot be started: \(error)")
      return reportFailedStart(of: id, because: error.description)
    }
    do throws(SystemError) {
      var output = try OutputPipe()
      let worker = try WorkerProcess(
        id: id, number: number, executable: executable, errorStream: output.writerDescriptor,
        bandwidth: bandwidth)
      workers[id] = worker
      try register(worker)
      try errors.add(output.takeReader(), from: .worker(id), named: worker.name)
    } catch {
      log.note("worker \(number) cannot be started: \(error)")
      if let worker = workers.removeValue(forKey: id) {
        worker.killAndReap()
        unregister(worker)
      }
      reportFailedStart(of: id, because: "\(executable) cannot be started: \(error)")
    }
  }

  private func reportFailedStart(of id: WorkerID, because reason: String) {
    scheduler.handle(.fromWorker(id, .refused(reason: reason)))
    let end = WorkerEnd.crashed("could not be started")
    scheduler.handle(.workerExited(id, end, transferring: nil))
  }

  private func register(_ worker: WorkerProcess) throws(SystemError) {
    let id = worker.id
    try poller.register(
      worker.channel.descriptor, .read, token: Token.workerChannel(id).rawValue)
    try poller.register(worker.exitDescriptor, .read, token: Token.workerExit(id).rawValue)
  }

  private func unregister(_ worker: WorkerProcess) {
    poller.unregister(worker.channel.descriptor)
    poller.unregister(worker.exitDescriptor)
  }

  /// Ends a worker that owes an answer for too long.
  func kill(_ id: WorkerID) {
    workers[id]?.killOverdue()
  }

  func killAll() {
    workers.values.forEach { $0.kill() }
    decoders.killAll()
  }

  func hasExited(_ id: WorkerID) {
    guard let worker = workers[id] else { return }
    // Its last answers free slots, which must not go to a process that is gone.
    scheduler.handle(.workerExiting(id))
    receiveRest(from: worker)
    let transferring = worker.transferringLease
    guard let end = worker.reap(isDraining: !lifecycle.isRunning) else { return }
    workers[id] = nil
    decoders.endAll(of: id)
    sandboxReports.remove(id)
    unregister(worker)
    logEnd(of: worker, end)
    scheduler.handle(.workerExited(id, end, transferring: transferring))
  }

  /// What a worker sent before it died still counts: it lies in the socket's buffer.
  private func receiveRest(from worker: WorkerProcess) {
    // A broken frame at the end is what the death has cut off.
    while let received = try? worker.channel.receive() {
      for delivery in received.deliveries { receive(delivery, from: worker) }
      if received.isExhausted { return }
    }
  }

  // MARK: - Messages

  /// Sends a message with the next ``flush()``.
  func send(_ message: CoordinatorMessage, with file: PassedFile? = nil, to id: WorkerID) {
    guard let worker = workers[id] else { return }
    do throws(ChannelError) {
      try worker.channel.post(message, with: file)
      unflushed.insert(id)
    } catch {
      kill(worker, after: error)
    }
  }

  /// Hands the kernel what was sent since the last call.
  func flush() {
    while let id = unflushed.popFirst() {
      guard let worker = workers[id] else { continue }
      do throws(ChannelError) {
        try worker.channel.flush()
        watch(worker)
      } catch {
        kill(worker, after: error)
      }
    }
  }

  func isReady(_ id: WorkerID, _ readiness: Poller.Readiness) {
    guard let worker = workers[id] else { return }
    do throws(ChannelError) {
      if readiness.isWritable { try worker.channel.flush() }
      if readiness.isReadable || readiness.isHungUp {
        let received = try worker.channel.receive()
        for delivery in received.deliveries { receive(delivery, from: worker) }
        // Its exit is reported by the process itself; until then there is nothing to read.
        if received.isClosed { return poller.unregister(worker.channel.descriptor) }
      }
      watch(worker)
    } catch {
      kill(worker, after: error)
    }
  }

  private func receive(_ delivery: Delivery<WorkerMessage>, from worker: WorkerProcess) {
    let id = worker.id
    switch delivery.message {
    case .hello(let hello): greet(worker, hello)
    case .startDecoder(let decoder):
      let answer = decoders.order(decoder, for: worker, channel: delivery.announcedFile)
      tell([answer].compactMap(\.self))
      startDecoders(at: .now)
    case .endDecoder(let decoder):
      tell([decoders.end(decoder, of: id)].compactMap(\.self))
    case .sandboxed(let sandbox):
      sandboxReports.add(sandbox, of: id).forEach(log.note)
    case .refused(let reason):
      log.note("worker \(worker.number) ends: \(reason)")
      scheduler.handle(.fromWorker(id, delivery.message))
    case .uncached, .preview:
      let file = files.add(delivery.announcedFile)
      scheduler.handle(.fromWorker(id, delivery.message, file: file))
    case .ready, .lookedUp, .hostUpdates, .redirected, .transferred, .released, .finished,
      .progress, .unpinned, .store:
      scheduler.handle(.fromWorker(id, delivery.message))
    }
  }

  private func greet(_ worker: WorkerProcess, _ hello: Hello) {
    guard hello.protocolVersion == Build.protocolVersion else {
      return refuse(worker, "\(executable) is of version \(hello.version), not \(Build.version)")
    }
    guard FileIO.isFile(decoders.executable) else {
      return refuse(worker, "\(decoders.executable) is missing")
    }
    let welcome = Welcome(
      hello: Hello(processID: ThisProcess.processID), limits: scheduler.state.limits,
      storeDirectory: settings.storeDirectory, allowedNetworks: settings.allowedNetworks,
      allowedDirectories: settings.allowedDirectories, authorityFile: settings.authorityFile,
      proxies: settings.proxies, requiresSandbox: settings.requiresSandbox)
    send(.welcome(welcome), to: worker.id)
  }

  /// Ends a worker that cannot work here.
  private func refuse(_ worker: WorkerProcess, _ reason: String) {
    scheduler.handle(.fromWorker(worker.id, .refused(reason: reason)))
    worker.kill()
  }

  /// Ends a worker that breaks the protocol or does not read. Its exit does the rest.
  private func kill(_ worker: WorkerProcess, after error: ChannelError) {
    // A worker that has closed its end is about to exit. If its decoders end before it, the
    // coordinator still sends it their ends, and the write fails. That needs no line in the log.
    if !error.isClosedEnd { log.note("worker \(worker.number) is ended: \(error)") }
    poller.unregister(worker.channel.descriptor)
    switch error {
    case .framing, .message, .passedFile: worker.kill(because: error.description)
    // A worker that was killed from outside takes nothing either.
    case .closed, .timedOut, .peerDoesNotRead, .system: worker.kill()
    }
  }

  private func watch(_ worker: WorkerProcess) {
    let interest: Poller.Interest = worker.channel.hasUnsent ? [.read, .write] : .read
    // The descriptor is registered and open: a failure to change its events would be a bug here.
    try? poller.update(
      worker.channel.descriptor, interest, token: Token.workerChannel(worker.id).rawValue)
  }

  // MARK: - Decoders

  /// When ``startDecoders(at:)`` has something to do; `nil` while no decoder waits for its start.
  var decoderDeadline: Instant? { decoders.deadline }

  /// Starts the decoders whose turn has come.
  func startDecoders(at now: Instant) {
    tell(decoders.startDue(at: now))
  }

  func decoderHasExited(_ number: DecoderNumber) {
    tell([decoders.hasExited(number, at: .now)].compactMap(\.self))
  }

  /// Tells workers the ends of their decoders.
  private func tell(_ answers: [DecoderChildren.Answer]) {
    for (worker, exit) in answers { send(.decoderExited(exit), to: worker) }
  }

  // MARK: - Heartbeats

  /// Reports the heartbeat page of each worker.
  func observe() {
    for worker in workers.values {
      scheduler.handle(.workerObserved(worker.id, worker.observation))
    }
  }

  // MARK: - Ends

  /// Logs one line for each death, with the last message of the worker's libraries.
  private func logEnd(of worker: WorkerProcess, _ end: WorkerEnd) {
    let message = errors.end(.worker(worker.id), at: .now).map { ": \($0)" } ?? ""
    guard let how = end.sentence else { return }
    log.note("\(worker.name) \(how)\(message)")
  }
}

/// How often the libraries of all workers together may say something in the log, apart from deaths.
struct MessageAllowance: Sendable {
  private static let rate = TransferRate(perMinute: 10)

  private var bucket = TokenBucket()
  private var droppedCount = 0

  /// A message asks to be logged.
  ///
  /// - Returns: how many before it were not; `nil` when this one is not either.
  mutating func take(at now: Instant) -> Int? {
    if let next = bucket.nextToken(at: Self.rate), next > now {
      droppedCount += 1
      return nil
    }
    bucket.take(at: now, rate: Self.rate)
    defer { droppedCount = 0 }
    return droppedCount
  }
}

/// What confines the coordinator, and the workers and their decoders, as each worker reports it.
struct SandboxReports {
  private let coordinator: SandboxReport
  private var reports: [WorkerID: WorkerSandbox] = [:]
  /// The warnings that were given. A kernel gives reason for few.
  private var warnings: Set<String> = []

  init(coordinator: SandboxReport) {
    self.coordinator = coordinator
  }

  /// A worker has reported.
  ///
  /// - Returns: lines for the log about protections that the kernel lacks, if they are news.
  mutating func add(_ sandbox: WorkerSandbox, of worker: WorkerID) -> [String] {
    reports[worker] = sandbox
    return [("workers", sandbox.worker), ("decoders", sandbox.decoder)].compactMap {
      (processes, report) in
      let missing = report.missing.joined(separator: " and ")
      let warning = "warning: the \(processes) run without \(missing), which the kernel lacks"
      return missing.isEmpty || !warnings.insert(warning).inserted ? nil : warning
    }
  }

  /// A worker has ended.
  mutating func remove(_ worker: WorkerID) { reports[worker] = nil }

  /// What is in force in all processes of each kind.
  var status: ClusterStatus.Sandboxes {
    ClusterStatus.Sandboxes(
      coordinator: coordinator, workers: SandboxReport(ofAll: reports.values.map(\.worker)),
      decoders: SandboxReport(ofAll: reports.values.map(\.decoder)))
  }
}

extension WorkerEnd {
  /// Attributes the end of a process to a person, the store or the worker itself.
  ///
  /// - Parameters:
  ///   - isDraining: whether the worker was told to leave.
  ///   - hasCrashedInStore: whether the thread that crashed was in a call of the store.
  ///   - isOverdue: whether the coordinator killed it because it owed an answer for too long.
  init(_ status: ExitStatus, isDraining: Bool, hasCrashedInStore: Bool, isOverdue: Bool) {
    self =
      switch status {
      case .exited(0) where isDraining: .left
      case .signalled(SIGKILL) where isOverdue:
        .killed("was ended by the coordinator: its answer was overdue")
      case .signalled(SIGKILL), .signalled(SIGTERM): .killed(status.description)
      case .signalled where hasCrashedInStore: .crashedInStore(status.description)
      case .exited, .signalled: .crashed(status.description)
      }
  }

  /// The predicate of a sentence whose subject is the worker; `nil` for a worker that left when told
  /// to.
  var sentence: String? {
    switch self {
    case .left: nil
    case .crashed(let how), .killed(let how): how
    case .crashedInStore(let how): "\(how) in the store"
    }
  }
}
