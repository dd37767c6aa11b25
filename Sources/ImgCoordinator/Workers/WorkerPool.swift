import ImgModel
import ImgScheduler
import ImgSettings
import ImgSystem
import ImgTransport
import ImgWire

/// The worker processes: started, sent messages, heard and reaped. What they say and how they end
/// become events of the scheduler.
final class WorkerPool {
  /// The path of `imgworker`.
  let executable: String
  private var workers: [WorkerID: WorkerProcess] = [:]
  private var messageAllowance = MessageAllowance()
  private let settings: Settings
  private let scheduler: SchedulerDriver
  private let files: MemoryFileTable
  private let lifecycle: Lifecycle
  private let poller: Poller
  private let log: Log

  init(
    executable: String, settings: Settings, scheduler: SchedulerDriver,
    files: MemoryFileTable, lifecycle: Lifecycle, poller: Poller, log: Log
  ) {
    self.executable = executable
    self.settings = settings
    self.scheduler = scheduler
    self.files = files
    self.lifecycle = lifecycle
    self.poller = poller
    self.log = log
  }

  var isEmpty: Bool { workers.isEmpty }

  func processID(of id: WorkerID) -> Int32? { workers[id]?.processID }

  // MARK: - Start and end

  func spawn(_ id: WorkerID, number: Int) {
    precondition(workers[id] == nil, "a worker is started once")
    do throws(SystemError) {
      let worker = try WorkerProcess(id: id, number: number, executable: executable)
      workers[id] = worker
      try register(worker)
    } catch {
      log.note("worker \(number) cannot be started: \(error)")
      if let worker = workers.removeValue(forKey: id) {
        worker.killAndReap()
        unregister(worker)
      }
      scheduler.handle(.workerRefused(id, reason: "\(executable) cannot be started: \(error)"))
      let end = WorkerEnd.crashed("could not be started")
      scheduler.handle(.workerExited(id, end, decoding: nil, transferring: nil))
    }
  }

  private func register(_ worker: WorkerProcess) throws(SystemError) {
    let id = worker.id
    try poller.register(
      worker.channel.descriptor, .read, token: Token.workerChannel(id).rawValue)
    try poller.register(worker.exitDescriptor, .read, token: Token.workerExit(id).rawValue)
    try poller.register(worker.outputDescriptor, .read, token: Token.workerOutput(id).rawValue)
  }

  private func unregister(_ worker: WorkerProcess) {
    poller.unregister(worker.channel.descriptor)
    poller.unregister(worker.exitDescriptor)
    poller.unregister(worker.outputDescriptor)
  }

  func kill(_ id: WorkerID) {
    workers[id]?.kill()
  }

  func killAll() {
    workers.values.forEach { $0.kill() }
  }

  func hasExited(_ id: WorkerID) {
    guard let worker = workers[id] else { return }
    // Its last answers free slots, which must not go to a process that is gone.
    scheduler.handle(.workerExiting(id))
    receiveRest(from: worker)
    let decoding = worker.observation.decodingLease
    let transferring = worker.transferringLease
    guard
      let end = worker.reap(
        isDraining: !lifecycle.isRunning, limits: scheduler.state.limits)
    else { return }
    workers[id] = nil
    unregister(worker)
    logEnd(of: worker, end, decoding: decoding)
    scheduler.handle(.workerExited(id, end, decoding: decoding, transferring: transferring))
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

  func send(_ message: CoordinatorMessage, with file: MemoryFile? = nil, to id: WorkerID) {
    guard let worker = workers[id] else { return }
    do throws(ChannelError) {
      try worker.channel.send(message, with: file)
      watch(worker)
    } catch {
      kill(worker, after: error)
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
    case .ready(let credits): scheduler.handle(.workerReady(id, credits))
    case .refused(let refusal):
      log.note("worker \(worker.number) cannot begin: \(refusal.reason)")
      scheduler.handle(.workerRefused(id, reason: refusal.reason))
    case .lookedUp(let results): scheduler.handle(.workerLookedUp(id, results))
    case .hostUpdates(let updates): scheduler.handle(.workerReportedHosts(id, updates))
    case .redirected(let list): scheduler.handle(.workerRedirected(id, list.redirections))
    case .transferred(let list): scheduler.handle(.workerTransferred(id, list.leases))
    case .released(let list): scheduler.handle(.workerReleased(id, list.leases))
    case .finished(let results): scheduler.handle(.workerFinished(id, results))
    case .uncached(let result):
      guard let file = delivery.file else {
        preconditionFailure("a channel delivers the file of an uncached result")
      }
      scheduler.handle(.workerMadeUncached(id, result, files.add(file)))
    }
  }

  private func greet(_ worker: WorkerProcess, _ hello: Hello) {
    guard hello.protocolVersion == Build.protocolVersion else {
      let reason = "\(executable) is of version \(hello.version), not \(Build.version)"
      scheduler.handle(.workerRefused(worker.id, reason: reason))
      return worker.kill()
    }
    let welcome = Welcome(
      hello: Hello(processID: ThisProcess.processID), limits: scheduler.state.limits,
      storeDirectory: settings.storeDirectory, allowedNetworks: settings.allowedNetworks,
      allowedDirectories: settings.allowedDirectories, authorityFile: settings.authorityFile)
    send(.welcome(welcome), to: worker.id)
  }

  /// Ends a worker that breaks the protocol or does not read. Its exit does the rest.
  private func kill(_ worker: WorkerProcess, after error: ChannelError) {
    log.note("worker \(worker.number) is ended: \(error)")
    poller.unregister(worker.channel.descriptor)
    switch error {
    case .framing, .message, .memoryFile: worker.kill(because: error.description)
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

  // MARK: - Heartbeats

  /// Reports the heartbeat page of each worker.
  func observe() {
    for worker in workers.values {
      scheduler.handle(.workerObserved(worker.id, worker.observation))
    }
  }

  // MARK: - Output

  func outputIsReady(_ id: WorkerID) {
    guard let worker = workers[id] else { return }
    let (lines, isOpen) = worker.readOutput(at: .now)
    lines.forEach(log.write)
    // Its exit is reported by the process itself; until then there is nothing to read.
    if !isOpen { poller.unregister(worker.outputDescriptor) }
  }

  /// When ``logMessages(at:)`` has something to do; `nil` while no library has said anything.
  var messageDeadline: ContinuousClock.Instant? {
    workers.values.compactMap(\.messageDeadline).min()
  }

  /// Logs the messages of libraries whose workers have not died meanwhile.
  func logMessages(at now: ContinuousClock.Instant) {
    for worker in workers.values {
      guard let deadline = worker.messageDeadline, deadline <= now,
        let message = worker.takeMessage(), let skipped = messageAllowance.take(at: now)
      else { continue }
      let before = skipped == 0 ? "" : " (\(skipped) messages before it are not shown)"
      log.note("worker \(worker.number) (process \(worker.processID)) says\(before): \(message)")
    }
  }

  /// Logs one line for each death, with the picture that was being decoded and the last message of
  /// the worker's libraries.
  private func logEnd(of worker: WorkerProcess, _ end: WorkerEnd, decoding lease: LeaseID?) {
    worker.endOutput(at: .now).forEach(log.write)
    let message = worker.takeMessage()
    guard let how = end.sentence else { return }
    var line = "worker \(worker.number) (process \(worker.processID)) \(how)"
    if let lease {
      let host = scheduler.state.host(of: lease).map { " of \($0)" } ?? ""
      line += " while it decoded a picture\(host) (lease \(lease.rawValue))"
    }
    if let message { line += ": \(message)" }
    log.note(line)
  }
}

extension WorkerEnd {
  /// The predicate of a sentence whose subject is the worker; `nil` for a worker that left when told
  /// to.
  fileprivate var sentence: String? {
    switch self {
    case .left: nil
    case .crashed(let how), .killed(let how): how
    case .crashedInStore(let how): "\(how) in the store"
    case .ranOutOfMemory(let how): "ran out of memory and \(how)"
    }
  }
}
