package import ImgModel

/// Why nothing moves, in one place: read from what the queues know already, so that it costs the
/// same however long the lists are.
extension Scheduler {
  /// A job that has had no outcome for so long says what it waits for.
  static let stallTime = Duration.seconds(2)
  /// A fetch or a decode that has begun later is not reported to viewers: most are over in a moment.
  private static let briefTime = Duration.seconds(1)
  /// Hosts that the status of the cluster names, those that most URLs wait for.
  static let waitingHostMaximum = 20
  /// How many of the next retries are looked at for one of a job.
  private static let backoffMaximum = 256

  // MARK: - The cluster

  /// Why no work of any job moves; `nil` when some may.
  package func clusterWait(journalError: String? = nil) -> Wait? {
    let network = networkWaits
    return processWait(journalError: journalError) ?? network[.direct] ?? network[.proxied]
  }

  /// Why no host of a route is asked for jobs, see ``NetworkHealth``; `nil` if they may be.
  private var networkWaits: ByRoute<Wait?> {
    var waits = ByRoute<Wait?>(nil)
    for route in NetworkRoute.allCases { waits[route] = networkWait(by: route) }
    return waits
  }

  private func networkWait(by route: NetworkRoute) -> Wait? {
    let network = networks[route]
    guard let outage = network.outage else { return nil }
    let kind: Wait.Kind = outage.kind == .captive ? .captive : .offline
    let isTrying = outage.trial != nil
    // Looks at all hosts that could start.
    let next =
      isTrying
      ? network.lastTried
      : fetches.queue.nextForTrial(of: route, after: network.lastTried)?.name
    return Wait(
      kind, host: next, detail: cause(of: outage, by: route),
      code: outage.isOfCertificates ? .tlsFailure : nil, since: timeline.wall(outage.since),
      until: isTrying ? nil : timeline.wall(outage.nextTrial))
  }

  /// The same for a job, one of whose hosts waits for it; `nil` if none does. Pictures of its list may have failed
  /// before a login page was known for what it is.
  private func networkWait(of job: ActiveJob, _ network: ByRoute<Wait?>) -> Wait? {
    let isProxied =
      network[.proxied] != nil
      && job.backlogs.keys.contains { fetches.queue.route(to: $0) == .proxied }
    guard let wait = network[.direct] ?? (isProxied ? network[.proxied] : nil) else { return nil }
    guard wait.kind == .captive, job.record.counts.failed > 0 else { return wait }
    let failed = wait.code == .tlsFailure ? "was refused" : "had a page"
    return wait.explained("then imgctl retry \(job.id) --all requests again what \(failed) before")
  }

  /// Why no work of any client moves, for reasons of this machine.
  private func processWait(journalError: String? = nil) -> Wait? {
    if let journalError { return Wait(.journal, detail: journalError) }
    if jobs.unrecordedCount >= Self.unrecordedMaximum { return Wait(.recording) }
    if isDraining { return Wait(.draining) }
    guard workers.isEmpty else { return nil }
    let supervisor = workers.supervisor
    guard let failure = supervisor.startFailure else {
      return Wait(.workerStarting, since: supervisor.startingSince.map(timeline.wall))
    }
    return Wait(.noWorker, detail: failure, until: supervisor.nextStart.map(timeline.wall))
  }

  /// The hosts that URLs wait for, those with most URLs first, and how many others there are.
  package func waitingHosts(at instant: Instant? = nil) -> (named: [Wait], otherCount: Int) {
    let now = instant ?? now.instant
    let waits = fetches.queue.hosts.compactMap { name, host in
      host.urlCount > 0 ? hostWait(host, name, urls: host.urlCount, at: now) : nil
    }
    let sorted = waits.sorted { left, right in
      (right.urls ?? 0, left.host ?? "") < (left.urls ?? 0, right.host ?? "")
    }
    let named = Array(sorted.prefix(Self.waitingHostMaximum))
    return (named, sorted.count - named.count)
  }

  // MARK: - A job

  /// Why a job has had no outcome for a while, or which limits of bandwidth hold it although it has some; `nil` for
  /// one that nothing holds.
  ///
  /// - Parameter network: what jobs wait for because of the network; `nil` if it works.
  func jobWait(
    of job: ActiveJob, at now: Instant, journalError: String?, network: ByRoute<Wait?>
  ) -> Wait? {
    guard now - job.movedAt > Self.stallTime else {
      return journalError == nil ? heldWait(of: job, at: now) : nil
    }
    if let journalError { return Wait(.journal, detail: journalError) }
    if job.leasedCount > 0 {
      let wait = slowest(of: job, at: now, network: network)
      return wait.isOfNetwork ? networkWait(of: job, network) ?? wait : wait
    }
    if job.unrecordedCount > 0 || job.isEnding { return Wait(.recording) }
    if job.isPaused { return Wait(.paused) }
    if let wait = processWait() { return wait }
    if job.isHeld {
      return pinRoom.isKnown
        ? Wait(.storePinned, detail: store.report?.pinShortage) : Wait(.lookingUp)
    }
    if job.isDelayed { return Wait(.delayed, until: job.record.notBefore) }
    if let wait = networkWait(of: job, network), !job.waitsForFiles { return wait }
    return waitInQueue(of: job, at: now)
  }

  /// That limits of bandwidth hold transfers of a job.
  private func heldWait(of job: ActiveJob, at now: Instant) -> Wait? {
    guard job.leasedCount > 0, isHeld(fetches.queue.heldAt, at: now) else { return nil }
    let transfers = fetches.leases.all.values.filter { isOf(job.id, $0) }
      .compactMap { $0.transfer.flatMap { fetches.transfers[$0] } }
    let hosts = Set(transfers.map(\.host)).filter {
      isHeld(fetches.queue.host($0)?.heldAt, at: now)
    }
    return hosts.min().map { bandwidthWait($0).beside(moreHosts: hosts.count - 1) }
  }

  /// Whether a fetch or a decode is one of a job's lines.
  private func isOf(_ job: JobID, _ lease: Lease) -> Bool {
    lease.purpose != .lookup
      && work[lease.item]?.waiters.contains { $0.isLine(of: job) } == true
  }

  /// What of a job is under way for longest.
  private func slowest(
    of job: ActiveJob, at now: Instant, network: ByRoute<Wait?>
  ) -> Wait {
    var oldest: (lease: Lease, since: Instant)?
    var transfers: [TransferID: LeasedTransfer] = [:]
    for lease in fetches.leases.all.values where isOf(job.id, lease) {
      let transfer = lease.transfer.flatMap { fetches.transfers[$0] }
      if let transfer, transfer.holdsSlot, let id = lease.transfer { transfers[id] = transfer }
      let since = fetches.leases.oldestSince(of: transfer?.leases ?? []) ?? lease.since
      if oldest.map({ since < $0.since }) ?? true { oldest = (lease, since) }
    }
    guard let (lease, since) = oldest else { return Wait(.lookingUp) }
    let wait = leaseWait(lease, since: since, at: now, network: network)
    let alike = transfers.values.filter { kind(of: $0) == wait.kind }
    return wait.explained(by: alike.map(\.host))
  }

  /// What a fetch or a decode is at.
  private func leaseWait(
    _ lease: Lease, since: Instant, at now: Instant, network: ByRoute<Wait?>
  ) -> Wait {
    guard let transfer = lease.transfer.flatMap({ fetches.transfers[$0] }) else {
      return Wait(.decoding, host: work[lease.item]?.host, since: timeline.wall(since))
    }
    return transferWait(transfer, since: since, at: now, network: network)
  }

  private func transferWait(
    _ transfer: LeasedTransfer, since: Instant, at now: Instant, network: ByRoute<Wait?>
  ) -> Wait {
    let host = fetches.queue.host(transfer.host)
    let begun = timeline.wall(since)
    if transfer.state == .ended { return Wait(.decoding, host: transfer.host, since: begun) }
    if let wait = network[fetches.queue.route(to: transfer.host)] { return wait }
    switch transfer.state {
    case .ended, .receiving:
      if isHeld(host?.heldAt, at: now) { return bandwidthWait(transfer.host) }
      if let line = slowLineWait { return line }
      return Wait(kind(of: transfer), host: transfer.host, since: begun)
    case .redirected, .refused:
      return host.flatMap { hostWait($0, transfer.host, urls: $0.urlCount, at: now) }
        ?? capacityWait(isResponsive: host?.isResponsive ?? false, at: now)
    }
  }

  private func kind(of transfer: LeasedTransfer) -> Wait.Kind {
    let isAskingRobots = fetches.queue.host(transfer.host)?.robotsProbe == transfer.source
    return switch transfer.phase {
    case .resolving: .resolving
    case .connecting: .connecting
    case .awaitingAnswer: isAskingRobots ? .robots : .awaitingAnswer
    case .receiving: isAskingRobots ? .robots : .transferring
    }
  }

  /// That the line is slow, see ``CongestionWindow``; `nil` if it is not known to be.
  private var slowLineWait: Wait? { slowLineWords.map { Wait(.slowLine, detail: $0) } }

  /// Why none of a job's lines at hand begins: what lets it go on soonest.
  private func waitInQueue(of job: ActiveJob, at now: Instant) -> Wait {
    var waits: [Wait] = []
    var retriedHosts: Set<String> = []
    if job.waitsForFiles { waits.append(fileWait(of: job.id)) }
    for (name, backlog) in job.backlogs
    where backlog.waiting > 0 && name != ImageURL.commandFileHost {
      let host = fetches.queue.host(name)
      if let wait = host.flatMap({ hostWait($0, name, urls: backlog.waiting, at: now) }) {
        waits.append(wait)
      } else if host.map({ $0.urlCount > 0 }) == true {
        waits.append(capacityWait(isResponsive: host?.isResponsive ?? false, at: now))
      } else {
        retriedHosts.insert(name)
      }
    }
    if !retriedHosts.isEmpty { waits.append(backoffWait(of: job, retriedHosts)) }
    if job.lookups.next != nil { waits.append(capacityWait(isResponsive: true, at: now)) }
    guard let soonest = waits.min(by: Self.isSooner) else {
      if !job.backlogs.isEmpty { return Wait(.workersBusy) }
      return job.cursor.ticket == nil ? Wait(.otherJobs) : Wait(.reading)
    }
    let hosts = Set(waits.compactMap(\.host))
    return soonest.beside(moreHosts: hosts.count - (soonest.host == nil ? 0 : 1))
  }

  private func fileWait(of job: JobID) -> Wait {
    Wait(
      .localFiles,
      detail: fileReads.hasReader(of: job)
        ? "the command reads its files"
        : "the command that reads its files has ended: imgctl wait \(job) continues")
  }

  private static func isSooner(_ left: Wait, _ right: Wait) -> Bool {
    let (leftUntil, rightUntil) = (left.until ?? .distantPast, right.until ?? .distantPast)
    if leftUntil != rightUntil { return leftUntil < rightUntil }
    return (left.host ?? "", left.kind.rawValue) < (right.host ?? "", right.kind.rawValue)
  }

  /// The retry of a job's URL that is next; without one, its lines wait for a decoder.
  private func backoffWait(of job: ActiveJob, _ hosts: Set<String>) -> Wait {
    var next: (source: Source, until: Instant)?
    for source in fetches.sources.waitingForRetry(Self.backoffMaximum) {
      guard let until = source.retryAt, hosts.contains(source.key.host),
        next.map({ until < $0.until }) ?? true,
        waitingItems(of: source).contains(where: { $0.jobs.contains(job.id) })
      else { continue }
      next = (source, until)
    }
    return next.map { backoffWait(of: $0.source, $0.until) } ?? Wait(.workersBusy)
  }

  private func backoffWait(of source: Source, _ until: Instant) -> Wait {
    let host = source.key.host
    return Wait(
      .backoff, host: host,
      detail: source.lastFailure?.detail ?? "a worker ended that was fetching a picture of \(host)",
      code: source.lastFailure?.code, httpStatus: source.lastFailure?.httpStatus,
      attempt: source.attempts + 1, until: timeline.wall(until))
  }

  // MARK: - Viewers

  /// When ``takeWaitReports(at:)`` has something to do; `nil` while no viewer waits.
  package var waitReportDeadline: Instant? { viewers.reportDeadline }

  /// What viewers that have waited for a while wait for, as far as that is news to them.
  package mutating func takeWaitReports(at now: Instant) -> [(viewer: ViewerID, wait: Wait)] {
    var reports: [(viewer: ViewerID, wait: Wait)] = []
    guard viewers.reportDeadline.map({ $0 <= now }) == true else { return [] }
    let network = networkWaits
    while let (viewer, id) = viewers.takeDueReport(at: now) {
      guard let item = work[id] else { preconditionFailure("\(viewer) waits for nothing") }
      let wait = itemWait(item, at: now, network: network)
      if !isBrief(wait, at: now), viewers.report(wait, to: viewer) {
        reports.append((viewer, wait))
      }
    }
    return reports
  }

  private func isBrief(_ wait: Wait, at now: Instant) -> Bool {
    wait.since.map { $0.duration(to: timeline.wall(now)) < Self.briefTime } ?? false
  }

  private func itemWait(
    _ item: WorkItem, at now: Instant, network: ByRoute<Wait?>
  ) -> Wait {
    switch item.stage {
    case .lookingUp: return Wait(.lookingUp)
    case .awaitingLookup, .awaitingDecode: return processWait() ?? Wait(.workersBusy)
    case .awaitingFile:
      guard let job = item.jobs.first else { return Wait(.localFiles) }
      return processWait() ?? fileWait(of: job)
    case .behindEarlierLines, .awaitingTransfer:
      return processWait() ?? slotWait(item, at: now)
    case .transferring(let lease), .decoding(let lease):
      guard let held = fetches.leases[lease] else { preconditionFailure("\(lease) has ended") }
      return leaseWait(held, since: held.since, at: now, network: network)
    }
  }

  private func slotWait(_ item: WorkItem, at now: Instant) -> Wait {
    let host = fetches.queue.host(item.host)
    let obstacle = host.flatMap { hostWait($0, item.host, urls: $0.urlCount, at: now) }
    if let obstacle { return obstacle }
    if let source = item.source.flatMap({ fetches.sources[$0] }), let until = source.retryAt {
      return backoffWait(of: source, until)
    }
    return capacityWait(isResponsive: host?.isResponsive ?? false, at: now)
  }

  // MARK: - Hosts and capacity

  /// Why no transfer may start at the host; `nil` when one may.
  ///
  /// - Parameter urls: that wait for it.
  private func hostWait(_ host: Host, _ name: String, urls: Int, at now: Instant) -> Wait? {
    let health = host.health
    let attempt = health.nextAttempt.flatMap { $0 > now ? $0 : nil }
    if host.mostUrgent(at: now) == nil, let until = host.nextPauseEnd(at: now),
      attempt.map({ $0 <= until }) ?? true,
      host.nextOwnToken(at: now).map({ until < $0.at }) ?? true
    {
      return Wait(.retryAfter, host: name, urls: urls, until: timeline.wall(until))
    }
    if let attempt {
      let token = fetches.queue.nextToken(of: name, at: now) ?? attempt
      return failing(host, name, urls: urls, until: timeline.wall(max(attempt, token)))
    }
    if host.robotsProbe != nil { return Wait(.robots, host: name, urls: urls) }
    if case .full = fetches.queue.standing(of: host, at: now) {
      guard !health.isTripped else { return failing(host, name, urls: urls) }
      if host.isAnswerAwaited { return Wait(.awaitingAnswer, host: name, urls: urls) }
      if isHeld(host.heldAt, at: now) { return bandwidthWait(name, urls: urls) }
      return Wait(.hostFull, host: name, urls: urls)
    }
    return rateWait(host, name, urls: urls, at: now)
  }

  /// Why the next request waits: because of a rate of this side, or because of the time that the host asks for.
  /// Where both hold it, that which does so for longer.
  private func rateWait(_ host: Host, _ name: String, urls: Int, at now: Instant) -> Wait? {
    let own = fetches.queue.ownToken(of: host, at: now)
    guard let token = fetches.queue.nextToken(of: name, at: now), token > now else { return nil }
    let until = timeline.wall(token)
    guard let own, own.at == token, own.isOfRobots, let delay = host.ownTokens.crawlDelay else {
      // Else a host that fails would seem to wait for its rate alone.
      let failure = host.health.lastFailure
      return Wait(
        .hostRate, host: name, detail: failure?.detail, code: failure?.code,
        httpStatus: failure?.httpStatus, urls: urls, until: until)
    }
    let seconds = Double(delay.milliseconds) / 1_000
    let text = seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
    return Wait(
      .crawlDelay, host: name, detail: "\(name) asks for \(text) s between requests", urls: urls,
      until: until)
  }

  private func failing(_ host: Host, _ name: String, urls: Int, until: WallTime? = nil) -> Wait {
    let failure = host.health.lastFailure
    return Wait(
      .hostFailing, host: name, detail: failure?.detail, code: failure?.code,
      httpStatus: failure?.httpStatus, urls: urls, until: until)
  }

  /// The limits of bandwidth have held something for all of this time, as far as workers tell of it.
  private static let heldTime = Duration.seconds(2)

  private func isHeld(_ heldAt: Instant?, at now: Instant) -> Bool {
    limits.isBandwidthLimited && heldAt.map { now - $0 <= Self.heldTime } ?? false
  }

  /// - Parameter host: whose transfers are held; `nil` for those of the cluster.
  private func bandwidthWait(_ host: String? = nil, urls: Int? = nil) -> Wait {
    let names = [
      limits.bytesPerSecond > 0 ? "--bytes-per-second" : nil,
      limits.hostBytesPerSecond > 0 ? "--bytes-per-second-per-host" : nil,
    ].compactMap(\.self)
    return Wait(.bandwidth, host: host, detail: names.joined(separator: " or "), urls: urls)
  }

  /// Why a transfer that could start at its host does not.
  private func capacityWait(isResponsive: Bool, at now: Instant) -> Wait {
    guard fetches.queue.hasSlot else {
      if isHeld(fetches.queue.heldAt, at: now) { return bandwidthWait() }
      return slowLineWait ?? Wait(.transfersFull)
    }
    let share = transferShare
    guard workers.contains(where: { $0.takesFetches(share: share) }) else {
      return Wait(.workersBusy)
    }
    return Wait(isResponsive ? .otherJobs : .transfersFull)
  }
}

extension Wait {
  /// What several transfers are at, all at the same.
  ///
  /// - Parameter hosts: of the transfers.
  fileprivate func explained(by hosts: [String]) -> Wait {
    guard let host else { return self }
    if kind == .transferring, hosts.count > 1 {
      return explained("\(hosts.count) transfers are running, the first from \(host)")
    }
    let otherCount = Set(hosts).subtracting([host]).count
    guard otherCount > 0 else { return self }
    let all = "\(host) and \(otherCount) other host\(otherCount == 1 ? "" : "s")"
    return switch kind {
    case .resolving: explained("the addresses of \(all) are being looked up")
    case .connecting: explained("connections to \(all) are being established")
    case .awaitingAnswer: explained("\(all) have not answered yet")
    default: self
    }
  }
}

/// What the scheduler knows, for status requests.
extension Scheduler {
  /// A job that has not ended; `nil` for one that only the journal knows.
  ///
  /// - Parameters:
  ///   - instant: now; `nil` for the moment of the last event.
  ///   - journalError: why outcomes cannot be written; `nil` while they can.
  package func status(
    of id: JobID, at instant: Instant? = nil, journalError: String? = nil
  ) -> ImageJob? {
    jobs[id].map {
      status(
        of: $0, at: instant ?? now.instant, journalError: journalError, network: networkWaits,
        byteCounts: unreportedByteCounts)
    }
  }

  private func status(
    of job: ActiveJob, at instant: Instant, journalError: String?, network: ByRoute<Wait?>,
    byteCounts: [JobID: Int64]
  ) -> ImageJob {
    ImageJob(
      job.record, running: job.runningCount,
      unrecordedByteCount: job.unrecordedByteCount + (byteCounts[job.id] ?? 0),
      isDelayed: job.isDelayed,
      isCancelling: job.isEnding && job.record.counts.finished < job.record.counts.total,
      wait: jobWait(of: job, at: instant, journalError: journalError, network: network),
      shortage: StoreShortage(
        job.record, store: store.report, budgetByteCount: limits.storeBudgetByteCount))
  }

  /// A job that may be changed; `nil` for one that has ended or whose end is on its way.
  package func changeableRecord(of id: JobID) -> JobRecord? {
    jobs[id].flatMap { $0.isEnding ? nil : $0.record }
  }

  /// The jobs that have not ended, the newest first.
  ///
  /// - Parameters:
  ///   - id: only jobs older than this one; `nil` for the newest.
  ///   - limit: how many at most.
  ///   - instant: as of ``status(of:at:journalError:)``.
  ///   - journalError: as of ``status(of:at:journalError:)``.
  package func activeJobs(
    before id: JobID? = nil, limit: Int, at instant: Instant? = nil, journalError: String? = nil
  ) -> [ImageJob] {
    let older = jobs.ids.filter { job in id.map { job < $0 } ?? true }
    let (network, byteCounts) = (networkWaits, unreportedByteCounts)
    return older.sorted(by: >).prefix(limit).compactMap { jobs[$0] }.map {
      status(
        of: $0, at: instant ?? now.instant, journalError: journalError, network: network,
        byteCounts: byteCounts)
    }
  }

  package var activeJobCount: Int { jobs.count }
  package var viewerCount: Int { viewers.count }
  package var leaseCount: Int { fetches.leases.count }
  package var lateAnswerCount: Int { fetches.leases.lateAnswerCount }
  package var transferCount: Int { fetches.queue.underWay }
  /// See `ClusterStatus.slowLineTransfers` in ImgModel.
  package var slowLineTransfers: Int? { fetches.queue.congestion.limit }
  /// What a worker told last of the size of the store; `nil` before.
  package var storeReport: StoreReport? { store.report }
  /// How often a worker has told it.
  package var storeReportCount: Int { store.reportCount }
  /// What keeps thumbnails out of the store; `nil` when nothing is known to.
  package var storeError: StoreErrorStatus? { store.error }
}
