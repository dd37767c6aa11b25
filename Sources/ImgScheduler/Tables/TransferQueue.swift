package import ImgModel

/// The URLs that wait for a transfer, by host, and the slots they wait for. How the next one is
/// chosen is in `Urgency.swift`.
///
/// Each host keeps its own URLs in order; only hosts that could start one now compete, each with
/// its most urgent URL. So a full host does not block the others, however many URLs wait for it.
package struct TransferQueue {
  private var slots: TransferSlots
  private var slow = SlowTransfers()
  /// Slow transfers that are to end in favour of others.
  private var displaced: [TransferID] = []
  package private(set) var rate: TransferRate?
  /// Of a host that nothing is known of.
  private let newHealth: HostHealth
  /// The hosts with a URL that waits, a transfer under way, a bucket that is not full, or a health
  /// that is of interest.
  private var table = NumberedTable<HostID, Host>()
  private var ids: [String: HostID] = [:]
  private var lastNumber: UInt64 = 0
  private(set) var index = HostIndex()
  /// What may start, as far as the network is concerned.
  var gates = ByRoute(Gate.open)
  var news = HostNews()
  /// When the program began that goes on with jobs; `nil` if it does not.
  private var restartedAt: Instant?
  /// When the limits of bandwidth were last known to hold a transfer; `nil` for never.
  private(set) var heldAt: Instant?

  /// The longest time of a transfer that shows its host to be responsive.
  private static let responsiveTime = Duration.seconds(2)

  init(_ limits: Limits) {
    slots = TransferSlots(limits)
    rate = Self.rate(limits)
    newHealth = HostHealth(backoff: limits.backoff)
  }

  private static func rate(_ limits: Limits) -> TransferRate? {
    limits.hostRatePerMinute > 0 ? TransferRate(perMinute: limits.hostRatePerMinute) : nil
  }

  /// From now on these limits hold; what is under way beyond them comes to its end.
  mutating func apply(_ limits: Limits, at now: Instant) {
    slots.apply(limits)
    let oldRate = rate
    rate = Self.rate(limits)
    for (_, id) in ids.sorted(by: { $0.key < $1.key }) {
      change(id, at: now) { [rate] host in
        if let old = oldRate, let new = rate { host.changeRate(from: old, to: new, at: now) }
      }
    }
  }

  /// The program goes on with jobs that another has begun: what that has requested of hosts is unknown.
  mutating func noteRestart(at now: Instant) { restartedAt = restartedAt ?? now }

  /// The limits of bandwidth have held a transfer of a host.
  mutating func noteHeld(_ host: String, at now: Instant) {
    heldAt = now
    if let id = ids[host] { table.change(id) { $0.heldAt = now } }
  }

  // MARK: - Hosts

  /// The hosts by their names.
  package var hosts: [String: Host] { ids.compactMapValues { table[$0] } }

  /// - Returns: `nil` for a host of which nothing is known.
  package func host(_ name: String) -> Host? { ids[name].flatMap { table[$0] } }

  /// Reads a host without a copy; `nil` for one of which nothing is known.
  private func read<Result>(_ name: String, _ body: (borrowing Host) -> Result) -> Result? {
    ids[name].flatMap { table.read($0, body) }
  }

  // MARK: - Routes

  package func route(to host: String) -> NetworkRoute { read(host) { $0.route } ?? .direct }

  /// The proxy has failed for a host.
  mutating func noteProxied(_ host: String, at now: Instant) {
    changeKnown(host, at: now) { $0.noteProxied(at: now) }
  }

  // MARK: - Slots

  /// All transfers, those among them that hold no slot because they are slow.
  package var underWay: Int { slots.underWay + slow.asideCount }
  /// Slow transfers that hold no slot.
  package var asideCount: Int { slow.asideCount }
  package var hasSlot: Bool { slots.isAnyFree }

  /// See ``TransferSlots/limitPerHost(isForViewer:)``.
  package func limitPerHost(isForViewer: Bool) -> Int {
    slots.limitPerHost(isForViewer: isForViewer)
  }

  /// What is known of a slow line.
  var congestion: CongestionWindow { slots.congestion }

  /// A transfer of a host has timed out.
  ///
  /// - Returns: whether the line of this machine is the reason, as far as is known.
  mutating func timedOut(_ timeout: CongestionWindow.Timeout, at now: Instant) -> Bool {
    slots.noteTimeout(timeout, underWay: underWay, slowCount: slow.count, at: now)
  }

  /// The last byte of a transfer that holds its slots is in.
  mutating func noteArrival(_ transfer: TransferID, at now: Instant) {
    slots.noteEnd(isFast: !slow.contains(transfer), at: now)
  }

  func hasSlot(for pace: HostPace, _ urgency: Urgency) -> Bool {
    slots.isAnyFree(for: pace, urgency)
  }

  /// Whether a slot is free for the next URL of a host, or slow transfers make room for its viewer. For
  /// viewers of hosts that are slow themselves that depends on the other ones.
  package func takesSlot(for host: String, _ urgency: Urgency) -> Bool {
    let pace = self.host(host).map(pace) ?? .unproven
    return hasSlot(for: pace, urgency)
      || urgency.viewer > 0 && pace != .slow
        && ids[host].map { canMakeRoom(for: $0, pace) } ?? false
  }

  private func pace(of host: Host) -> HostPace {
    guard !host.isResponsive else { return .responsive }
    return slow.isSlow(host.group) ? .slow : .unproven
  }

  /// When a host may go on that has a cooldown now, or is forgotten.
  var deadline: Instant? { index.deadline }

  /// Lets the hosts go on whose cooldown is over.
  mutating func wake(at now: Instant) {
    slots.forgetCongestion(at: now)
    while let host = index.takeDue(at: now) { update(host, at: now) }
  }

  /// Takes the most urgent URL of a startable host and, for it, one slot of the cluster, one of the
  /// host and one of its tokens. ``release(_:of:host:isRedirected:at:)`` gives the slots back.
  mutating func start(_ host: HostID, at now: Instant) -> SourceID? {
    takeSlot(of: host, at: now) { host in
      let source = host.start(at: now)
      if let source { host.noteStart(of: source) }
      return source
    }
  }

  /// The same for the most urgent transfer that was redirected to the host.
  mutating func startRedirected(_ host: HostID, at now: Instant) -> TransferID? {
    takeSlot(of: host, at: now) { $0.startRedirected(at: now) }
  }

  private mutating func takeSlot<Started>(
    of id: HostID, at now: Instant, _ begin: (inout Host) -> Started?
  ) -> Started? {
    makeRoom(for: id, at: now)
    let (started, isResponsive) = table.change(id) { [rate] host in
      let started = begin(&host)
      if let rate, started != nil { host.takeToken(at: now, rate: rate) }
      return (started, host.isResponsive)
    }
    if started != nil { slots.take(isResponsive: isResponsive) }
    update(id, at: now)
    return started
  }

  /// Gives back the slots of a transfer whose last byte is in, or which ended.
  ///
  /// - Parameter isRedirected: whether the transfer goes on at another host, see
  ///   ``endRedirect(from:at:)``.
  /// - Precondition: the transfer holds them.
  mutating func release(
    _ transfer: TransferID, of source: SourceID, host name: String, isRedirected: Bool = false,
    at now: Instant
  ) {
    guard let id = ids[name],
      let (group, isResponsive) = table.read(id, { ($0.group, $0.isResponsive) })
    else {
      preconditionFailure("a slot is given back that was not taken")
    }
    let wasSlow = slow.isSlow(group)
    switch slow.remove(transfer) {
    case .slot: slots.release(isResponsive: isResponsive)
    case .aside: table.change(id) { $0.asideCount -= 1 }
    }
    change(id, at: now) { $0.release(source, isRedirected: isRedirected) }
    if wasSlow, !slow.isSlow(group) { paceChanged(of: group, at: now) }
  }

  // MARK: - Slow transfers

  /// Whether a transfer is slow, as its worker tells.
  func isSlow(_ transfer: TransferID) -> Bool { slow.contains(transfer) }

  /// A transfer that holds its slots has turned slow.
  ///
  /// - Parameter isForViewer: whether it gives its slot of the cluster up at once. Those of lists do it for
  ///   viewers only, so that a list never has more transfers than slots.
  mutating func turnedSlow(
    _ id: TransferID, host name: String, isForViewer: Bool, at now: Instant
  ) {
    guard let host = ids[name], let group = table.read(host, { $0.group }), !slow.contains(id)
    else {
      return
    }
    setResponsive(false, host)
    let wasSlow = slow.isSlow(group)
    slow.add(id, host: name, group: group)
    if isForViewer, slow.takesAside(upTo: slots.asideMaximum) { stepAside(id) }
    update(host, at: now)
    if !wasSlow { paceChanged(of: group, at: now) }
  }

  /// A transfer is slow no more. It has a slot again, also where none is free: one fewer begins later.
  mutating func turnedFast(_ id: TransferID, host name: String, at now: Instant) {
    guard let host = ids[name], let group = table.read(host, { $0.group }), slow.contains(id) else {
      return
    }
    if case .aside = slow.remove(id) {
      let isResponsive = table.change(host) { host in
        host.asideCount -= 1
        return host.isResponsive
      }
      slots.take(isResponsive: isResponsive)
    }
    if !slow.isSlow(group) { paceChanged(of: group, at: now) }
  }

  /// The slow transfers that were to end since the last call.
  mutating func takeDisplaced() -> [TransferID] {
    defer { displaced = [] }
    return displaced
  }

  /// Whether slow transfers can give up their slots for a viewer of a host.
  func canMakeRoom(for host: HostID, _ pace: HostPace) -> Bool {
    guard let group = table.read(host, { $0.group }) else { return false }
    let count = slots.shortage(for: pace)
    return slow.slotCount >= count
      && slow.hasRoom(for: group, count: count, upTo: slots.asideMaximum)
  }

  /// Has slow transfers give up their slots until one is free for the most urgent URL of a host.
  private mutating func makeRoom(for id: HostID, at now: Instant) {
    guard slow.slotCount > 0, let host = table[id], let urgency = host.mostUrgent(at: now) else {
      return
    }
    while !hasSlot(for: pace(of: host), urgency), let oldest = slow.nextWithSlot {
      guard !slow.takesAside(upTo: slots.asideMaximum), let victim = slow.oldestOfLargestGroup
      else {
        stepAside(oldest)
        continue
      }
      if slow.holdsSlot(victim) { stepAside(victim) }
      slow.end(victim)
      displaced.append(victim)
    }
  }

  private mutating func stepAside(_ id: TransferID) {
    guard let host = slow.host(of: id).flatMap({ ids[$0] }) else {
      preconditionFailure("\(id) is under way at a host")
    }
    slow.stepAside(id)
    let isResponsive = table.change(host) { host in
      host.asideCount += 1
      return host.isResponsive
    }
    slots.release(isResponsive: isResponsive)
  }

  /// The hosts of a group compete as slow ones from now on, or no more.
  private mutating func paceChanged(of group: String, at now: Instant) {
    let changed = table.filter { $1.group == group }.sorted { $0.1.name < $1.1.name }
    for (id, _) in changed { update(id, at: now) }
  }

  // MARK: - URLs

  /// - Precondition: the host is known.
  func name(of id: HostID) -> String {
    guard let name = table.read(id, { $0.name }) else { preconditionFailure("\(id) is forgotten") }
    return name
  }

  /// Queues a URL, or changes the urgency of one that is queued.
  mutating func insert(
    _ source: SourceID, host: String, origin: String, urgency: Urgency, at now: Instant
  ) {
    change(host, at: now) { $0.insert(source, of: origin, urgency) }
  }

  mutating func remove(_ source: SourceID, host: String, at now: Instant) {
    changeKnown(host, at: now) { $0.remove(source) }
  }

  func waiting(for host: String) -> [SourceID] { read(host) { $0.waiting } ?? [] }

  // MARK: - Redirects

  /// Queues a transfer that was redirected to the host, or changes its urgency.
  mutating func insert(
    redirected transfer: TransferID, host: String, origin: String, urgency: Urgency, at now: Instant
  ) {
    change(host, at: now) { $0.insert(redirected: transfer, to: origin, urgency) }
  }

  mutating func remove(redirected transfer: TransferID, host: String, at now: Instant) {
    changeKnown(host, at: now) { $0.remove(redirected: transfer) }
  }

  func redirected(to host: String) -> [TransferID] { read(host) { $0.redirected } ?? [] }

  /// A transfer that the host has redirected waits no more.
  mutating func endRedirect(from host: String, at now: Instant) {
    changeKnown(host, at: now) { $0.endRedirect() }
  }

  // MARK: - Robots

  /// A transfer that has begun asks for the robots.txt of its origin. The first of them goes alone.
  mutating func beginRobotsProbe(
    of origin: String, by source: SourceID, host: String, at now: Instant
  ) {
    changeKnown(host, at: now) { $0.beginRobotsProbe(of: origin, by: source) }
  }

  /// The rules that a source's transfer asks for are known.
  mutating func endRobotsProbe(_ source: SourceID, host: String, at now: Instant) {
    changeKnown(host, at: now) { $0.endRobotsProbe(source) }
  }

  /// When there is a token for the next URL of a host; `nil` if no rate delays it.
  package func nextToken(of host: String, at now: Instant) -> Instant? {
    read(host) { host in
      [token(of: host), ownToken(of: host, at: now)?.at].compactMap(\.self).max()
    } ?? nil
  }

  /// When the next URL of a host gets a token of its own pace; `nil` if there is one, or it needs none.
  func ownToken(of host: borrowing Host, at now: Instant) -> OwnTokens.Next? {
    host.mostUrgent(at: now) == nil ? host.nextOwnToken(at: now) : nil
  }

  /// The host was asked for something beside the transfers: the next one begins so much later.
  mutating func takeToken(of host: String, at now: Instant) {
    guard rate != nil || ids[host] != nil else { return }
    change(host, at: now) { [rate] in $0.takeTokenUnasked(at: now, rate: rate) }
  }

  // MARK: - Health

  /// The host has answered a transfer.
  ///
  /// - Parameter hasFailed: whether the transfer has failed nevertheless.
  mutating func answered(
    _ host: String, begunAt: Instant, hasFailed: Bool = false, at now: Instant
  ) {
    guard let id = ids[host] else { return }
    news.noteAnswer(of: host, at: now)
    setResponsive(now - begunAt <= Self.responsiveTime, id)
    change(id, at: now) { $0.answered(failedAt: hasFailed ? now : nil) }
  }

  /// Whether the host has ever answered, as far as that is remembered.
  func hasAnswered(_ host: String) -> Bool { read(host) { $0.health.hasAnswered } ?? false }

  /// An outage has ended: of the lines of each host one alone shows whether it answers, before the others follow.
  mutating func awaitAnswers(of route: NetworkRoute, at now: Instant) {
    for (_, id) in ids.sorted(by: { $0.key < $1.key }) {
      change(id, at: now) { host in
        if host.route == route { host.isAnswerAwaited = host.urlCount > 0 || host.underWay > 0 }
      }
    }
  }

  /// A transfer of a source has failed because of the network.
  mutating func held(_ key: Source.Key, at now: Instant) {
    guard let id = ids[key.host] else { return }
    change(id, at: now) { $0.held(key.origin) }
  }

  /// A source's transfer has failed because of the host.
  ///
  /// - Returns: whether it was the probe.
  mutating func failed(
    _ failure: Failure, of source: SourceID, host: String, begunAt: Instant, at now: Instant
  ) -> Bool {
    guard let id = ids[host] else { return false }
    setResponsive(false, id)
    return change(id, at: now) { $0.failed(failure, of: source, begunAt: begunAt, at: now) }
  }

  private mutating func setResponsive(_ isResponsive: Bool, _ id: HostID) {
    let slotCount = table.change(id) { host in
      guard host.isResponsive != isResponsive else { return 0 }
      host.isResponsive = isResponsive
      return host.underWay - host.asideCount
    }
    slots.reclassify(slotCount, isResponsive: isResponsive)
  }

  /// An origin has sent Retry-After: it is not asked before then.
  mutating func coolDown(_ cooldown: HostCooldown, at now: Instant) {
    change(cooldown.host, at: now) {
      $0.coolDown(cooldown.origin, RetryAfter(cooldown, at: now))
    }
  }

  /// See ``Host/retryAfter(of:at:)``.
  package func retryAfter(of origin: String, host: String, at now: Instant) -> RetryAfter? {
    read(host) { $0.retryAfter(of: origin, at: now) } ?? nil
  }

  /// An explicit command needs the host: see ``Host/wantProbe(for:at:)``.
  mutating func wantProbe(of name: String, for command: CommandID, at now: Instant) {
    // What changes counts when a URL is queued.
    if let id = ids[name] { table.change(id) { $0.wantProbe(for: command, at: now) } }
  }

  /// A source's transfer has started at the host: it is the probe where one is wanted.
  mutating func noteStart(of source: SourceID, host: String, at now: Instant) {
    changeKnown(host, at: now) { $0.noteStart(of: source) }
  }

  /// See ``HostHealth/isTripped``.
  func isTripped(_ host: String) -> Bool { read(host) { $0.health.isTripped } ?? false }

  /// See ``Host/downBecause(at:)``.
  func downBecause(_ host: String, at now: Instant) -> Failure? {
    read(host) { $0.downBecause(at: now) } ?? nil
  }

  /// See ``Host/outage(at:)``.
  package func outage(of host: String, at now: Instant) -> Outage? {
    read(host) { $0.outage(at: now) } ?? nil
  }

  /// See ``Host/isFailing(for:at:)``.
  func isFailing(_ host: String, origin: String, at now: Instant) -> Bool {
    read(host) { $0.isFailing(for: origin, at: now) } ?? false
  }

  // MARK: - Standing

  /// Changes a host, also one that nothing was known of.
  private mutating func change(_ name: String, at now: Instant, _ body: (inout Host) -> Void) {
    change(ids[name] ?? add(name), at: now, body)
  }

  /// Changes a host; nothing for one that was forgotten meanwhile.
  mutating func changeKnown(_ name: String, at now: Instant, _ body: (inout Host) -> Void) {
    if let id = ids[name] { change(id, at: now, body) }
  }

  private mutating func change<Result>(
    _ id: HostID, at now: Instant, _ body: (inout Host) -> Result
  ) -> Result {
    defer { update(id, at: now) }
    return table.change(id, body)
  }

  private mutating func add(_ name: String) -> HostID {
    lastNumber += 1
    let id = HostID(rawValue: lastNumber)
    table.set(id, to: Host(name, health: newHealth, rate: rate, restartedAt: restartedAt))
    ids[name] = id
    return id
  }

  private mutating func forget(_ id: HostID) {
    if let host = table.remove(id) { ids[host.name] = nil }
  }

  /// Brings the host's standing among the others up to date, and forgets a host without work.
  private mutating func update(_ id: HostID, at now: Instant) {
    guard table.contains(id) else { return }
    table.change(id) { $0.forgetIdleOrigins(at: now) }
    index.remove(id)
    if let end = table.read(id, { $0.nextChance(at: now) }) ?? nil {
      index.setPaused(id, until: end)
    }
    switch table.read(id, { standing(of: $0, at: now) }) {
    case .startable(let urgency)?:
      let place = table.read(id) { host in
        HostIndex.Place(
          pace: pace(of: host), route: host.route, isRedirect: host.hasRedirected(at: now))
      }
      if let place { index.setStartable(id, urgency, place) }
    case .coolingDown(let until)?: index.setCoolingDown(id, until: until)
    case .remembered(let until)?:
      if let forgotten = index.setRemembered(id, until: until) { forget(forgotten) }
    case .idle?: forget(id)
    case .full?, nil: break
    }
  }
}
