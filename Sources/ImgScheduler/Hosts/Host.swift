package import ImgModel

/// What waits and runs at one host, and what is known of it.
package struct Host {
  /// See `HostGroup`.
  let group: String
  /// What waits, by origin. There is one for each origin for which something waits, or which has asked for a
  /// pause.
  private var origins: [String: OriginQueue] = [:]
  /// Transfers that hold slots here.
  package private(set) var underWay = 0
  /// Those of them that have given their slots of the cluster up, see ``SlowTransfers``.
  var asideCount = 0
  /// Its transfers that wait for slots at other hosts. Those that have not begun wait for these,
  /// but those that are redirected here do not, else two hosts could wait for each other.
  package private(set) var redirectingCount = 0
  package private(set) var bucket = TokenBucket()
  package private(set) var health: HostHealth
  /// Whether its last transfer was soon over, and none has turned slow since.
  package internal(set) var isResponsive = false
  /// The origins at the host whose robots.txt was probed.
  private var probedOrigins: Set<String> = []
  /// The source whose transfer fetches this origin's robots.txt. No other transfer starts at the host
  /// until the rules are known or that transfer ends.
  package private(set) var robotsProbe: SourceID?
  /// The source whose transfer is the probe of an explicit command, see ``HostHealth``.
  private var probe: SourceID?

  /// - Parameter name: see `ImageURL.host`.
  init(_ name: String, health: HostHealth) {
    group = HostGroup.name(of: name)
    self.health = health
  }

  /// URLs, and transfers that were redirected here, that wait for it.
  var urlCount: Int { origins.values.reduce(0) { $0 + $1.waiting.count + $1.redirected.count } }

  /// The sources that wait for a transfer of their own, in no order.
  var waiting: [SourceID] { origins.values.flatMap(\.waiting.keys) }

  /// The transfers that redirects lead here, in no order.
  package var redirected: [TransferID] { origins.values.flatMap(\.redirected.keys) }

  /// Whether a transfer that was redirected here waits for an origin that may be asked.
  func hasRedirected(at now: ContinuousClock.Instant) -> Bool {
    origins.values.contains { $0.mostUrgentRedirected(at: now) != nil }
  }

  /// The most urgent that waits for a slot, of the origins that may be asked; `nil` when nothing does.
  func mostUrgent(at now: ContinuousClock.Instant) -> Urgency? {
    [next { $0.mostUrgentSource(at: now) }, next { $0.mostUrgentRedirected(at: now) }]
      .compactMap { $0?.urgency }.min()
  }

  /// The origin whose turn it is.
  private func next(
    _ urgency: (OriginQueue) -> Urgency?
  ) -> (origin: String, urgency: Urgency)? {
    origins.compactMap { origin, queue in urgency(queue).map { (origin, $0) } }
      .min { $0.1 < $1.1 }
  }

  /// When the next of the origins may be asked that something waits for and that has a pause; `nil` if there
  /// is none.
  func nextPauseEnd(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    origins.values.compactMap { $0.pauseEnd(at: now) }.min()
  }

  /// Until when a pause of an origin has to be remembered; `nil` if none has.
  func pausesEnd(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    origins.values.compactMap { $0.pause(at: now)?.until }.max()
  }

  /// The pause that an origin has asked for; `nil` if there is none, or it is over.
  func retryAfter(of origin: String, at now: ContinuousClock.Instant) -> RetryAfter? {
    origins[origin]?.pause(at: now)
  }

  /// Forgets the origins for which nothing waits, and that have no pause.
  mutating func forgetIdleOrigins(at now: ContinuousClock.Instant) {
    for (origin, queue) in origins where queue.isEmpty && queue.pause(at: now) == nil {
      origins[origin] = nil
    }
  }

  // MARK: - Waiting

  /// Queues a source, or changes its urgency.
  mutating func insert(_ source: SourceID, of origin: String, _ urgency: Urgency) {
    origins[origin, default: OriginQueue()].waiting.set(source, to: urgency)
  }

  mutating func remove(_ source: SourceID) {
    for origin in origins.keys { origins[origin]?.waiting.remove(source) }
    if isNoSourceWaiting { health.cancelProbe() }
  }

  private var isNoSourceWaiting: Bool { origins.values.allSatisfy(\.waiting.isEmpty) }

  /// Queues a transfer that was redirected here, or changes its urgency.
  mutating func insert(redirected transfer: TransferID, to origin: String, _ urgency: Urgency) {
    origins[origin, default: OriginQueue()].redirected.set(transfer, to: urgency)
  }

  mutating func remove(redirected transfer: TransferID) {
    for origin in origins.keys { origins[origin]?.redirected.remove(transfer) }
  }

  // MARK: - Slots

  /// Takes the most urgent source, which gets a slot.
  mutating func start(at now: ContinuousClock.Instant) -> SourceID? {
    guard let origin = next({ $0.mostUrgentSource(at: now) })?.origin,
      let source = origins[origin]?.waiting.removeFirst()
    else { return nil }
    underWay += 1
    return source
  }

  /// Takes the most urgent transfer that was redirected here, which gets a slot.
  mutating func startRedirected(at now: ContinuousClock.Instant) -> TransferID? {
    guard let origin = next({ $0.mostUrgentRedirected(at: now) })?.origin,
      let transfer = origins[origin]?.redirected.removeFirst()
    else { return nil }
    underWay += 1
    return transfer
  }

  /// A source's transfer gives its slot back.
  ///
  /// - Parameter isRedirected: whether it waits for a slot at another host from now on.
  /// - Precondition: it holds one.
  mutating func release(_ source: SourceID, isRedirected: Bool) {
    precondition(underWay > 0, "a slot is given back that was not taken")
    underWay -= 1
    if isRedirected { redirectingCount += 1 }
    endRobotsProbe(source)
    if probe == source {
      probe = nil
      if !isNoSourceWaiting { health.repeatProbe() }
    }
  }

  /// A transfer that the host has redirected waits no more.
  ///
  /// - Precondition: one does.
  mutating func endRedirect() {
    precondition(redirectingCount > 0, "a redirect ends that did not begin")
    redirectingCount -= 1
  }

  // MARK: - Tokens

  /// From now on tokens come at another rate.
  mutating func changeRate(
    from old: TransferRate, to new: TransferRate, at now: ContinuousClock.Instant
  ) {
    bucket.change(from: old, to: new, at: now)
  }

  /// A transfer takes a token.
  mutating func takeToken(at now: ContinuousClock.Instant, rate: TransferRate) {
    bucket.take(at: now, rate: rate)
  }

  /// Something beside the transfers takes a token, see ``TokenBucket/takeUnasked(at:rate:)``.
  mutating func takeTokenUnasked(at now: ContinuousClock.Instant, rate: TransferRate) {
    bucket.takeUnasked(at: now, rate: rate)
  }

  // MARK: - Probes

  /// A source's transfer asks for the robots.txt of an origin, unless another did before.
  mutating func beginRobotsProbe(of origin: String, by source: SourceID) {
    if probedOrigins.insert(origin).inserted { robotsProbe = source }
  }

  /// The rules that a source's transfer asks for are known, or it has ended.
  mutating func endRobotsProbe(_ source: SourceID) {
    if robotsProbe == source { robotsProbe = nil }
  }

  /// A source's transfer has started: it is the probe where one is wanted.
  mutating func noteStart(of source: SourceID) {
    guard health.isProbeWanted else { return }
    health.cancelProbe()
    probe = source
  }

  /// An explicit command needs the host: see ``HostHealth/wantProbe(for:isProbing:at:)``.
  mutating func wantProbe(for command: CommandID, at now: ContinuousClock.Instant) {
    health.wantProbe(for: command, isProbing: probe != nil, at: now)
  }

  /// An origin has sent Retry-After: it is not asked before then.
  mutating func coolDown(_ origin: String, _ pause: RetryAfter) {
    if origins[origin] == nil, origins.count >= Self.maximumIdleOriginCount { forgetIdleOrigin() }
    origins[origin, default: OriginQueue()].coolDown(pause)
  }

  /// So many pauses of origins that nothing waits for are remembered. A host may have 65,535 ports.
  private static let maximumIdleOriginCount = 64

  /// Forgets the pause that ends first, of the origins that nothing waits for.
  private mutating func forgetIdleOrigin() {
    let idle = origins.compactMap { origin, queue in
      queue.isEmpty ? queue.pause.map { (origin, $0.until) } : nil
    }
    if let first = idle.min(by: { $0.1 < $1.1 }) { origins[first.0] = nil }
  }

  /// The host has answered a transfer.
  mutating func answered() {
    health.answered()
    probe = nil
  }

  /// A source's transfer has failed because of the host.
  mutating func failed(
    _ failure: Failure, of source: SourceID, begunAt: ContinuousClock.Instant,
    at now: ContinuousClock.Instant
  ) {
    if probe == source { probe = nil }
    health.failed(failure, begunAt: begunAt, at: now)
  }

  /// Why requests need not wait for the host now; `nil` when they should, or when one of them will
  /// be the next to try.
  func downBecause(at now: ContinuousClock.Instant) -> Failure? {
    guard probe == nil, !health.isProbeWanted, let until = health.coolingDownUntil, until > now
    else { return nil }
    return health.downBecause
  }

  /// Why the host is not asked now, because it failed; `nil` if it may be, or if a probe comes first.
  func outage(at now: ContinuousClock.Instant) -> Outage? {
    guard probe == nil, !health.isProbeWanted else { return nil }
    return health.outage(at: now)
  }

  /// Whether the host fails, by all that is known: it has a cooldown, or the origin has, or a transfer is
  /// about to show whether it still fails. Its failures are such that stale pictures may be served instead.
  func isFailing(for origin: String, at now: ContinuousClock.Instant) -> Bool {
    if let pause = retryAfter(of: origin, at: now),
      Failure.permitsStale(httpStatus: pause.httpStatus)
    {
      return true
    }
    guard health.isTripped, health.lastFailure?.permitsStale == true else { return false }
    return underWay > 0 || health.coolingDownUntil.map { $0 > now } ?? false
  }
}
