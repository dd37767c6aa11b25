import ImgModel
import ImgWire

/// Transfers that are redirected to another host: each takes a slot and a token there, as if it
/// began there, and respects the cooldown and the circuit breaker of that host.
///
/// While it waits it holds no slot of the cluster. The host that sent the redirect starts no other
/// transfer in its place, so that no more of them wait than were under way.
extension Scheduler {
  mutating func redirected(_ redirections: [Redirection], by worker: WorkerID) {
    for redirection in redirections {
      let id = redirection.transfer
      guard let transfer = fetches.transfers[id], transfer.worker == worker, transfer.holdsSlot
      else {
        continue
      }
      workers.setSlow(false, id, of: worker)
      noteNetwork(.answer, of: id)
      let until = now.instant + limits.transferTimeout
      if let cancel = fetches.redirect(id, by: redirection, until: until, at: now.instant) {
        effects.append(cancel)
      } else {
        queueRedirected(id)
        refuseRedirectedViewers(id)
      }
    }
  }

  /// Puts a transfer that waits for a slot where the most urgent of its items belongs.
  mutating func queueRedirected(_ id: TransferID) {
    guard let transfer = fetches.transfers[id], transfer.isWaitingAfterRedirect else { return }
    let items = transfer.leases.compactMap { fetches.leases[$0]?.item }
    // Lines that have begun with a viewer compete once it is gone.
    for item in items { jobs.assignStartTags(to: item, in: &work) }
    guard let urgency = items.map({ work.item($0).urgency }).min() else { return }
    fetches.queueRedirected(id, urgency, at: now.instant)
  }

  /// Lets transfers go on for which there are slots.
  mutating func dispatchRedirected() {
    let followed = fetches.resumeRedirected(at: now.instant)
    effects += fetches.endDisplaced(at: now.instant)
    for (worker, transfers) in followed.sorted(by: { $0.key < $1.key }) {
      effects.append(.send(.followRedirects(transfers), to: worker))
    }
  }
}

/// The network of this machine, see ``NetworkHealth``.
extension Scheduler {
  /// Ends a trial whose transfer is over, and a wait that was long enough. Says what may begin.
  mutating func reviewNetworks() {
    for route in NetworkRoute.allCases {
      if let trial = networks[route].outage?.trial, fetches.transfers[trial] == nil {
        networks[route].endTrial(at: now.instant)
      }
      networks[route].endWait(at: now.instant)
      updateGate(of: route)
    }
    reportSlowLine()
    effects += fetches.queue.news.take().map { .hostChanged(news: $0) }
  }

  /// Says when the line of this machine is found to be slow or slower, and when it is not slow any more.
  private mutating func reportSlowLine() {
    let line = fetches.queue.congestion
    let (before, limit) = (reportedLine.limit, line.limit)
    defer { reportedLine = line }
    guard
      limit.map({ $0 < before ?? .max }) ?? (before != nil)
        || line.neededSeconds != nil && reportedLine.neededSeconds == nil
    else { return }
    let news = slowLineWords ?? "the line is not taken for a slow one any more"
    effects.append(.networkChanged(news: news))
  }

  /// See ``CongestionWindow``; `nil` if the line is not known to be slow. What follows the first clause is advice.
  var slowLineWords: String? {
    let line = fetches.queue.congestion
    guard let limit = line.limit else { return nil }
    let words = "a slow line: \(limit) transfer\(limit == 1 ? "" : "s") at once"
    guard let seconds = line.neededSeconds else { return words }
    return
      "\(words); pictures are fetched in vain that need more time: imgctl stop && imgctl start "
      + "--transfer-timeout \(seconds)s"
  }

  private mutating func updateGate(of route: NetworkRoute) {
    let network = networks[route]
    fetches.queue.gates[route] =
      switch network.outage {
      case nil: .open
      case .some where network.isTrialDue(at: now.instant): .trial(after: network.lastTried)
      case .some: .viewersOnly
      }
    reportOutage(of: route)
  }

  /// Says when an outage begins and ends. Workers forget the connections and addresses of the network before. Those of
  /// a network that wants a login lead to its page.
  private mutating func reportOutage(of route: NetworkRoute) {
    let (before, outage) = (reportedOutages[route], networks[route].outage)
    reportedOutages[route] = outage
    guard before?.since != outage?.since || before?.kind != outage?.kind else { return }
    for worker in workers.ids { effects.append(.send(.dropConnections, to: worker)) }
    if outage == nil { fetches.queue.awaitAnswers(of: route, at: now.instant) }
    if let before {
      let end = networks[route].isAccepted(before.kind) ? "is no longer waited for" : "works again"
      let seconds = (now.instant - before.since).secondsRoundedUp
      effects.append(.networkChanged(news: "the network \(end), after \(seconds) s"))
    }
    if let outage { effects.append(.networkChanged(news: news(of: outage, by: route))) }
  }

  private func news(of outage: NetworkHealth.Outage, by route: NetworkRoute) -> String {
    switch outage.kind {
    case .offline, .noData:
      "offline, jobs wait: "
        + (cause(of: outage, by: route) ?? "no host can be resolved or connected to")
    case .captive: "jobs wait: \(Self.loginWords(outage))"
    }
  }

  private static func loginWords(_ outage: NetworkHealth.Outage) -> String {
    outage.isOfCertificates
      ? "many hosts answer with foreign certificates; the network may want a login first, or an authority is missing"
      : "many hosts answer with web pages; the network may want a login first"
  }

  /// What is known of an outage: what the proxy has failed with, that the hosts are asked without it, or that they
  /// can be connected to.
  func cause(of outage: NetworkHealth.Outage, by route: NetworkRoute) -> String? {
    guard outage.kind != .noData else {
      return "connections come about, but nothing arrives from any host"
    }
    guard outage.kind == .offline, outage.detail == nil, route == .direct, hasDirectHosts else {
      return outage.detail
    }
    return "no host that is asked directly (NO_PROXY) can be resolved or connected to"
  }

  /// A transfer has begun, which tries a host if that is due: by a new connection, as the end of the outage would
  /// not show on an older one.
  mutating func noteBegin(of transfer: TransferID, host: String, isForViewer: Bool) {
    let route = fetches.queue.route(to: host)
    guard !isForViewer, networks[route].isTrialDue(at: now.instant) else { return }
    networks[route].beginTrial(transfer, of: host)
    if let worker = fetches.transfers[transfer]?.worker {
      effects.append(.send(.dropConnections, to: worker))
    }
    updateGate(of: route)
  }

  /// What the failure of a transfer shows of the network.
  func evidence(
    of failure: Failure, _ sign: NetworkSign?, in transfer: LeasedTransfer
  ) -> NetworkEvidence {
    let evidence = NetworkEvidence(failure, sign)
    return evidence != .noData || isSilenceOfNetwork(transfer) ? evidence : .none
  }

  /// Whether a transfer from which nothing came may show that the network delivers nothing. Another host has to show
  /// it, too. At the end of a list only hosts may be left that are silent themselves: so nothing has come from any host
  /// yet, or its host has answered before, or other hosts are asked next.
  private func isSilenceOfNetwork(_ transfer: LeasedTransfer) -> Bool {
    let host = fetches.queue.host(transfer.host)
    guard host?.health.failureCount == 0, !isDataArriving else { return false }
    let others = fetches.queue.hosts.values.filter {
      $0.name != transfer.host && $0.health.failureCount == 0
        && ($0.urlCount > 0 || $0.underWay > 0)
    }
    let network = networks[fetches.queue.route(to: transfer.host)]
    // One that waits for its retry has shown it.
    let isShown = network.isSilent(besides: HostGroup.name(of: transfer.host))
    return (isShown || !others.isEmpty)
      && (network.lastDataAt == nil || host?.health.hasAnswered == true
        || others.contains { $0.underWay == 0 })
  }

  /// A transfer from which nothing arrives is known to be slow by then, see `TransferPace` in ImgWorkerMachine.
  private static let longestTimeToTurnSlow = Duration.seconds(2)

  /// Whether something arrives of any transfer, as far as workers tell.
  private var isDataArriving: Bool {
    fetches.transfers.all.contains { id, transfer in
      transfer.holdsSlot && now.instant - transfer.startedAt >= Self.longestTimeToTurnSlow
        && !fetches.queue.isSlow(id)
    }
  }

  /// Takes in what the failure of a transfer shows of the network.
  ///
  /// - Returns: whether it is that of the network.
  mutating func noteNetwork(
    _ failure: Failure, _ evidence: NetworkEvidence, of id: TransferID
  ) -> Bool {
    if failure.code == .proxyFailure, let host = fetches.transfers[id]?.host {
      fetches.queue.noteProxied(host, at: now.instant)
    }
    return noteNetwork(evidence, of: id)
  }

  /// Takes in what a transfer shows of the network.
  ///
  /// - Returns: whether its failure is that of the network.
  @discardableResult
  mutating func noteNetwork(_ evidence: NetworkEvidence, of id: TransferID) -> Bool {
    guard let transfer = fetches.transfers[id] else { return false }
    // What a network that wants a login answers may come from one host for all.
    let key = fetches.sources[transfer.source]?.key
    let isOfLogin = evidence == .page || evidence == .foreignCertificate
    let host = isOfLogin ? key?.host ?? transfer.host : transfer.host
    // What was asked for over TLS was answered by its own host.
    let isProven = evidence == .page && key?.origin.hasPrefix("https:") == true
    var evidence = isProven ? .response : evidence
    // What was asked for before the pages began shows nothing of the network as it is now.
    if evidence == .response, let outage = networks[fetches.queue.route(to: host)].outage,
      outage.kind == .captive, transfer.startedAt < outage.since
    {
      evidence = .answer
    }
    return noteNetwork(evidence, of: host)
  }

  private mutating func noteNetwork(_ evidence: NetworkEvidence, of host: String) -> Bool {
    let route = fetches.queue.route(to: host)
    let isOfNetwork = networks[route].note(
      evidence, of: HostGroup.name(of: host), at: now.instant)
    updateGate(of: route)
    return isOfNetwork
  }

  /// A host has answered that was asked for its robots.txt. That may be all that a trial of the network asks it
  /// for. A web page is the answer of many hosts that have none: it does not show a network that wants a login.
  mutating func noteAnswer(_ robots: RobotsFetch) {
    let evidence = robots.sign == .page ? NetworkEvidence.answer : .response
    _ = noteNetwork(evidence, of: robots.host)
  }

  /// What a viewer is told whose picture fails because of the network.
  func networkFailure(_ failure: Failure, of host: String) -> Failure {
    let route = fetches.queue.route(to: host)
    let outage = networks[route].outage
    let reason =
      switch outage {
      case let outage? where outage.kind == .captive: " (\(Self.loginWords(outage)))"
      case let outage? where outage.detail == nil:
        " (offline: \(cause(of: outage, by: route) ?? "no host can be resolved or connected to"))"
      default: ""
      }
    return Failure(
      stage: failure.stage, code: failure.code, httpStatus: failure.httpStatus, isRetryable: true,
      detail: failure.detail + reason)
  }
}

/// Origins that have asked for a pause by Retry-After (RFC 9110 section 10.2.3), and hosts whose circuit breaker is
/// open. Lines of jobs wait until that is over. A viewer for whom it is too long fails at once, because it would
/// only hold up others.
extension Scheduler {
  mutating func coolDown(_ cooldown: HostCooldown) {
    fetches.queue.coolDown(cooldown, at: now.instant)
    reviewViewers(heldUpBy: cooldown.host)
  }

  /// Refuses the viewers for whom the pause or the outage of a host that has just begun is too long.
  mutating func reviewViewers(heldUpBy host: String) {
    guard !viewers.isEmpty else { return }
    let waiting = sourcesOfViewers(heldUpBy: host)
    offerStale(of: host)
    offerStale(of: host, to: waiting)
    for id in waiting { fetches.sources.noteChange(of: id) }
    for id in fetches.queue.redirected(to: host).sorted() { refuseRedirectedViewers(id) }
  }

  /// The sources of viewers that a pause of a host holds up. They are queued for a transfer, wait for their
  /// retry, or wait to join a transfer that was redirected to the host. What a client fetches is not held up.
  private func sourcesOfViewers(heldUpBy host: String) -> [SourceID] {
    let awaited = viewers.all.values.compactMap { viewer -> Source? in
      guard case .waiting(_, let item) = viewer else { return nil }
      return work[item]?.source.flatMap { fetches.sources[$0] }
    }
    let heldUp = awaited.filter {
      clientFetches.fetcher(of: $0.id) == nil && fetches.placeToWaitFor($0)?.host == host
    }
    return Set(heldUp.map(\.id)).sorted()
  }

  /// Refuses the viewers of items for whom a cooldown of a host is too long. The items go on with what else
  /// waits for them, or end.
  ///
  /// - Parameter waiting: the items that the cooldown holds up.
  /// - Returns: whether there were any.
  mutating func refuseViewers(
    among waiting: [WorkItem], for cooldown: Cooldown, of host: String
  ) -> Bool {
    var isAnyRefused = false
    for item in waiting where refuseViewers(of: item.id, for: cooldown, of: host) {
      isAnyRefused = true
      continueOrEnd(item.id)
    }
    return isAnyRefused
  }

  /// The same for an item that a viewer has joined, if its transfer was redirected.
  mutating func refuseViewersIfRedirected(_ id: WorkID) {
    guard let lease = work[id]?.stage.lease, let transfer = fetches.leases[lease]?.transfer else {
      return
    }
    refuseRedirectedViewers(transfer)
  }

  /// The same for a transfer that waits for a slot at the host to which it was redirected.
  mutating func refuseRedirectedViewers(_ id: TransferID) {
    guard let transfer = fetches.transfers[id],
      let pause = fetches.queue.retryAfter(
        of: transfer.origin, host: transfer.host, at: now.instant)
    else { return }
    for item in transfer.leases.compactMap({ fetches.leases[$0]?.item })
    where refuseViewers(of: item, for: .pause(pause), of: transfer.host) {
      continueOrEnd(item)
    }
  }

  private mutating func refuseViewers(
    of item: WorkID, for cooldown: Cooldown, of host: String
  ) -> Bool {
    let remaining = cooldown.until - now.instant
    let isRefused = { (waiter: Waiter) in
      waiter.maximumRetryAfter.map { $0 < remaining } ?? cooldown.isWithoutConnection
    }
    let held = work.item(item)
    guard held.waiters.contains(where: isRefused) else { return false }
    let failure = failure(of: held, for: cooldown, of: host)
    return dismissViewers(of: item, with: failure, where: isRefused)
  }

  private func failure(of item: WorkItem, for cooldown: Cooldown, of host: String) -> Failure {
    switch cooldown {
    case .pause(let pause): failure(of: item, for: pause, of: host)
    case .outage(let outage): failure(for: outage, of: host)
    }
  }

  /// Why viewers do not wait for a host that has failed.
  private func failure(for outage: Outage, of host: String) -> Failure {
    let end = timeline.wall(outage.until)
    let seconds = (outage.until - now.instant).secondsRoundedUp
    var failure = outage.failure.explained(
      "\(host) fails again and again, and is asked again at \(end), in \(seconds) s; its last failure: "
        + outage.failure.detail)
    failure.retryAt = end
    return failure
  }

  /// Why the viewers of an item do not wait. A status that says nothing of the host is not told, because it
  /// is of another picture; that of the item's own last attempt is.
  private func failure(of item: WorkItem, for pause: RetryAfter, of host: String) -> Failure {
    let last = item.source.flatMap { fetches.sources[$0]?.lastFailure }
    let end = timeline.wall(pause.untilForViewers)
    let seconds = (pause.untilForViewers - now.instant).secondsRoundedUp
    let reason = reason(item, isRepeated: last != nil, for: pause, of: host)
    let attempt = last.map { "; the last attempt failed: \($0.detail)" } ?? ""
    return Failure(
      stage: .queue, code: .httpStatus,
      httpStatus: pause.isOfHost ? pause.httpStatus : last?.httpStatus, isRetryable: true,
      retryAt: end, detail: "\(reason); the pause ends at \(end), in \(seconds) s\(attempt)")
  }

  /// What has led to the pause, and what was not requested because of it.
  ///
  /// - Parameter isRepeated: whether the item's URL was requested before.
  private func reason(
    _ item: WorkItem, isRepeated: Bool, for pause: RetryAfter, of host: String
  ) -> String {
    guard !isRepeated else {
      return "\(host) sent Retry-After, so this URL was not requested again"
    }
    let answer = "answered another request with \(pause.httpStatus) and Retry-After"
    return host == item.host
      ? "\(host) \(answer), so this URL was not requested"
      : "a redirect led to \(host), which \(answer), so it was not followed"
  }
}
