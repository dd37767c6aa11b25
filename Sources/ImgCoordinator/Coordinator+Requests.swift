import ImgCore
import ImgModel
import ImgSettings
import ImgStore
import ImgSystem
import ImgTransport
import ImgWire

/// What clients ask, one function a request.
extension Coordinator {
  func handle(_ delivery: Delivery<ClientMessage>, from client: ClientConnection) {
    if case .hello(let hello) = delivery.message { return greet(client, hello) }
    guard client.hasGreeted else {
      return dismiss(client, .invalidRequest, "the first frame is not a hello")
    }
    switch delivery.message {
    case .hello: break
    case .submit(let submission): openSubmission(submission, of: client)
    case .submitLines(let lines): takeLines(lines, of: client)
    case .submitEnd(let request): completeSubmission(request.id, of: client)
    case .status(let request): reportStatus(to: client, request.id)
    case .jobs(let request): listJobs(request, for: client)
    case .job(let request): reportJob(request, to: client)
    case .results(let request): listResults(request, for: client)
    case .change(let request): change(request, for: client)
    case .limit(let request): changeLimits(request, for: client)
    case .get(let request): get(request, for: client)
    case .upload(let request): upload(request, delivery.file, for: client)
    case .forget(let request): forgetFailures(request, for: client)
    case .sweep(let request): sweep(request.id, for: client)
    case .stop(let request):
      send(.stopping(request), to: client)
      beginDraining()
    }
  }

  /// Both ends must speak the same protocol: the other version hears ours, which lets it say what
  /// to do.
  private func greet(_ client: ClientConnection, _ hello: Hello) {
    let answer = Hello(
      processID: ThisProcess.processID, storeDirectory: settings.storeDirectory)
    send(.hello(answer), to: client)
    client.hasGreeted = hello.protocolVersion == Build.protocolVersion
    if !client.hasGreeted {
      log.note("client \(client.number) speaks protocol \(hello.protocolVersion): closed")
      client.isClosing = true
      settle(client)
    }
  }

  // MARK: - The cluster

  private func reportStatus(to client: ClientConnection, _ request: RequestID) {
    let cluster = ClusterStatus(
      state: phase == .running ? .running : .draining, processID: ThisProcess.processID,
      version: Build.version, startedAt: startedAt, socketPath: settings.socketPath,
      dataDirectory: settings.dataDirectory,
      workers: scheduler.workerStatuses { self.workers[$0]?.processID },
      transfers: scheduler.transferCount, activeJobs: scheduler.activeJobCount,
      viewers: scheduler.viewerCount, lateAnswers: scheduler.lateAnswerCount,
      discardedLate: scheduler.discardedLateCount, journalError: journalError,
      storeError: scheduler.storeError,
      wait: scheduler.clusterWait(journalError: journalError),
      waitingHosts: scheduler.waitingHosts(at: .now), limits: scheduler.limits,
      settings: settings.told(workerExecutable: workerExecutable))
    send(.status(ClusterReply(id: request, cluster: cluster)), to: client)
  }

  /// They hold until the coordinator ends; its settings hold when it starts again.
  private func changeLimits(_ request: LimitRequest, for client: ClientConnection) {
    log.note("limits changed by client \(client.number)")
    feed(.limitsChanged(request.limits))
    reportStatus(to: client, request.id)
  }

  private func forgetFailures(_ request: ForgetRequest, for client: ClientConnection) {
    feed(.failuresForgotten(Set(request.urls)))
    send(.forgotten(PlainRequest(id: request.id)), to: client)
  }

  // MARK: - Jobs

  private func listJobs(_ request: JobsRequest, for client: ClientConnection) {
    answering(request.id, of: client) { () throws(StoreError) in
      // One more than a page tells whether there are older ones.
      let count = JobsPage.maximumCount
      let found =
        if request.isActiveOnly {
          scheduler.activeJobs(
            before: request.before, limit: count + 1, at: .now, journalError: journalError)
        } else {
          try journal.jobs(before: request.before, limit: count + 1).map {
            activeStatus(of: $0.id) ?? JobStatus($0)
          }
        }
      return .jobs(
        JobsPage(id: request.id, jobs: Array(found.prefix(count)), hasMore: found.count > count))
    }
  }

  private func reportJob(_ request: JobRequest, to client: ClientConnection) {
    answering(request.id, of: client) { () throws(StoreError) in
      guard let status = try status(of: request.job) else {
        return unknown(request.job, request.id)
      }
      if request.isWatching, !status.hasEnded {
        if let refusal = refusalToWait(request.id, of: client) { return refusal }
        client.watches[request.id] = status
      }
      return .job(JobReply(id: request.id, status: status))
    }
  }

  private func listResults(_ request: ResultsRequest, for client: ClientConnection) {
    answering(request.id, of: client) { () throws(StoreError) in
      guard let status = try status(of: request.job) else {
        return unknown(request.job, request.id)
      }
      let page = try journal.results(
        of: request.job, from: request.from, limit: ResultsPage.maximumCount,
        isFailedOnly: request.isFailedOnly)
      let missing: Outcome? = status.state == .cancelled ? .cancelled : nil
      let entries = page.entries.map {
        ResultsPage.Entry(index: $0.index, url: $0.url, outcome: $0.outcome ?? missing)
      }
      return .results(Self.fitting(entries, next: page.next, request: request.id))
    }
  }

  /// A page that fits a frame whatever its lines are.
  private static func fitting(
    _ entries: [ResultsPage.Entry], next: Int?, request: RequestID
  ) -> ResultsPage {
    var byteCount = 0
    let fitting = entries.prefix { entry in
      byteCount += entry.url.utf8.count + Failure.maximumDetailByteCount
      return byteCount <= ResultsPage.maximumByteCount
    }
    let isCut = fitting.count < entries.count
    return ResultsPage(
      id: request, entries: Array(fitting), next: isCut ? entries[fitting.count].index : next)
  }

  /// Tells each watching client what has changed since it heard last. A client that has not read
  /// that yet is told the newest state once it has.
  func tellWatchers() {
    for client in clients.values where !client.channel.hasUnsent {
      for (request, told) in client.watches {
        guard let status = activeStatus(of: told.job), status != told else { continue }
        client.watches[request] = status
        send(.job(JobReply(id: request, status: status)), to: client)
      }
    }
  }

  func jobEnded(_ record: JobRecord) {
    let status = JobStatus(record)
    log.note(
      "job \(record.id) is \(status.state.rawValue): \(status.done) done, "
        + "\(status.failed) failed, \(status.cancelled) cancelled")
    for client in clients.values {
      for (request, told) in client.watches where told.job == record.id {
        client.watches[request] = nil
        send(.job(JobReply(id: request, status: status)), to: client)
      }
    }
  }

  // MARK: - Answers

  func unknown(_ job: JobID, _ request: RequestID) -> CoordinatorReply {
    .refused(
      RequestRefusal(id: request, code: .unknownJob, message: "there is no job \(job)"))
  }

  func refusalToWait(
    _ request: RequestID, of client: ClientConnection
  ) -> CoordinatorReply? {
    client.reasonNotToWait(for: request).map {
      .refused(RequestRefusal(id: request, code: .invalidRequest, message: $0))
    }
  }

  /// Sends what `reply` makes, or why the journal could not be read.
  func answering(
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
