import ImgCore
import ImgModel
import ImgSettings
import ImgStore
import ImgSystem
import ImgTransport
import ImgWire

/// Worker processes: started, heard, told, buried.
extension Coordinator {
  func spawn(_ id: WorkerID, slot: Int) {
    do throws(SystemError) {
      let worker = try WorkerProcess(id: id, slot: slot, executable: workerExecutable)
      workers[id] = worker
      try poller.register(
        worker.channel.descriptor, .read, token: Token.workerChannel(id).rawValue)
      try poller.register(worker.exitDescriptor, .read, token: Token.workerExit(id).rawValue)
      try poller.register(worker.outputDescriptor, .read, token: Token.workerOutput(id).rawValue)
    } catch {
      log.note("worker \(slot) cannot be started: \(error)")
      if let worker = workers.removeValue(forKey: id) {
        worker.killAndReap()
        discard(worker)
      }
      feed(.workerRefused(id, reason: "\(workerExecutable) cannot be started: \(error)"))
      let end = WorkerEnd.crashed("could not be started")
      feed(.workerExited(id, end, decoding: nil, transferring: nil))
    }
  }

  func send(_ message: CoordinatorMessage, with file: MemoryFile? = nil, to id: WorkerID) {
    guard let worker = workers[id] else { return }
    do throws(ChannelError) {
      try worker.channel.send(message, with: file)
      setInterest(of: worker)
    } catch {
      lose(worker, because: error)
    }
  }

  func workerIsReady(_ id: WorkerID, _ readiness: Poller.Readiness) {
    guard let worker = workers[id] else { return }
    do throws(ChannelError) {
      if readiness.isWritable { try worker.channel.flush() }
      if readiness.isReadable || readiness.isHungUp {
        let received = try worker.channel.receive()
        for delivery in received.deliveries { handle(delivery, from: worker) }
        // Its exit is reported by the process itself; until then there is nothing to read.
        if received.isClosed { poller.unregister(worker.channel.descriptor) }
        if received.isClosed { return }
      }
      setInterest(of: worker)
    } catch {
      lose(worker, because: error)
    }
  }

  private func handle(_ delivery: Delivery<WorkerMessage>, from worker: WorkerProcess) {
    switch delivery.message {
    case .hello(let hello):
      guard hello.protocolVersion == Build.protocolVersion else {
        feed(
          .workerRefused(
            worker.id,
            reason: "\(workerExecutable) is of version \(hello.version), not \(Build.version)"))
        return worker.kill()
      }
      send(.welcome(welcome), to: worker.id)
    case .ready(let credits):
      feed(.workerReady(worker.id, credits))
    case .refused(let refusal):
      log.note("worker \(worker.slot) cannot begin: \(refusal.reason)")
      feed(.workerRefused(worker.id, reason: refusal.reason))
    case .lookedUp(let results):
      feed(.workerLookedUp(worker.id, results))
    case .hostUpdates(let updates):
      feed(.workerReportedHosts(worker.id, updates))
    case .redirected(let list):
      feed(.workerRedirected(worker.id, list.redirections))
    case .transferred(let list):
      feed(.workerTransferred(worker.id, list.leases))
    case .released(let list):
      feed(.workerReleased(worker.id, list.leases))
    case .finished(let results):
      feed(.workerFinished(worker.id, results))
    case .uncached(let result):
      feed(.workerMadeUncached(worker.id, result, attach(delivery.file)))
    }
  }

  private var welcome: Welcome {
    Welcome(
      hello: Hello(processID: ThisProcess.processID), limits: scheduler.limits,
      storeDirectory: settings.storeDirectory,
      allowedNetworks: settings.allowedNetworks, allowedDirectories: settings.allowedDirectories,
      authorityFile: settings.authorityFile)
  }

  func workerHasExited(_ id: WorkerID) {
    guard let worker = workers[id] else { return }
    hearLastWords(of: worker)
    let decoding = worker.observation.decodingLease
    let transferring = worker.transferringLease
    let isDraining = phase != .running
    guard let end = worker.reap(isDraining: isDraining, limits: scheduler.limits) else { return }
    workers[id] = nil
    discard(worker)
    logEnd(of: worker, end, decoding: decoding)
    feed(.workerExited(id, end, decoding: decoding, transferring: transferring))
  }

  /// What a worker said before it died still counts: it lies in the socket's buffer.
  private func hearLastWords(of worker: WorkerProcess) {
    // A broken frame at the end is what the death has cut off.
    while let received = try? worker.channel.receive() {
      for delivery in received.deliveries { handle(delivery, from: worker) }
      if received.isExhausted { return }
    }
  }

  /// Removes a store on which workers crash. Workers that have it open notice, and one of them
  /// creates the next.
  func recreateStore(because reason: String) {
    do throws(StoreError) {
      guard try SharedStore.quarantine(settings.storeDirectory) else { return }
      log.note("the store in \(settings.storeDirectory) is damaged and was removed: \(reason)")
    } catch {
      log.note("the store is damaged and cannot be removed: \(error)")
    }
  }

  func observeWorkers() {
    for worker in workers.values { feed(.workerObserved(worker.id, worker.observation)) }
  }

  /// A worker that breaks the protocol or does not read is ended; its exit does the rest.
  private func lose(_ worker: WorkerProcess, because error: ChannelError) {
    log.note("worker \(worker.slot) is ended: \(error)")
    poller.unregister(worker.channel.descriptor)
    switch error {
    case .framing, .message, .attachment: worker.kill(because: error.description)
    // One that was killed from outside takes nothing either.
    case .closed, .timedOut, .peerDoesNotRead, .system: worker.kill()
    }
  }

  private func discard(_ worker: WorkerProcess) {
    poller.unregister(worker.channel.descriptor)
    poller.unregister(worker.exitDescriptor)
    poller.unregister(worker.outputDescriptor)
  }

  private func setInterest(of worker: WorkerProcess) {
    let interest: Poller.Interest = worker.channel.hasUnsent ? [.read, .write] : .read
    // The descriptor is registered and open; a failure to change its events would be a bug in here.
    try? poller.update(
      worker.channel.descriptor, interest, token: Token.workerChannel(worker.id).rawValue)
  }
}
