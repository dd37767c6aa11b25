package import ImgModel

/// The number of a host while something is known of it.
typealias HostID = Identifier<IdentifierKind.Host>

/// What waits and runs at one host, and what is known of it.
package struct Host {
  /// See `ImageURL.host`.
  let name: String
  /// See `HostGroup`.
  let group: String
  /// How it is asked, as far as that is known.
  private(set) var route = NetworkRoute.direct
  private var routeForgottenAt: Instant?
  /// What waits, one for each origin for which something waits, or which has asked for a pause: mostly one
  /// alone.
  private var origins: [OriginQueue] = []
  /// Transfers that hold slots here.
  package private(set) var underWay = 0
  /// Those of them that have given their slots of the cluster up, see ``SlowTransfers``.
  var asideCount = 0
  /// Its transfers that wait for slots at other hosts. Those that have not begun wait for these,
  /// but those that are redirected here do not, else two hosts could wait for each other.
  package private(set) var redirectingCount = 0
  /// At the rate of the cluster.
  package private(set) var bucket = TokenBucket()
  package private(set) var ownTokens: OwnTokens
  package private(set) var health: HostHealth
  /// Whether its last transfer was soon over, and none has turned slow since.
  package internal(set) var isResponsive = false
  /// When the limits of bandwidth were last known to hold one of its transfers; `nil` for never.
  var heldAt: Instant?
  /// Whether one transfer alone asks whether it answers, because an outage of the network has just ended.
  package internal(set) var isAnswerAwaited = false
  /// The origins at the host whose robots.txt was probed.
  private var probedOrigins: Set<String> = []
  /// The source whose transfer fetches this origin's robots.txt. No other transfer starts at the host
  /// until the rules are known or that transfer ends.
  package private(set) var robotsProbe: SourceID?
  /// The source whose transfer is the probe of an explicit command, see ``HostHealth``.
  private var probe: SourceID?
  /// How often transfers of sources have failed because of the host since it answered.
  private var failureCounts: [SourceID: Int] = [:]
  /// The origin whose transfer was the last to fail because of the network, since the host answered.
  private var heldOrigin: String?

  /// - Parameters:
  ///   - name: see `ImageURL.host`.
  ///   - rate: of the cluster.
  ///   - restartedAt: when the program began that goes on with jobs: what was requested before is unknown, so there are
  ///     no tokens at first; `nil` if it has not.
  init(_ name: String, health: HostHealth, rate: TransferRate? = nil, restartedAt: Instant? = nil) {
    self.name = name
    group = HostGroup.name(of: name)
    self.health = health
    if let rate { bucket = TokenBucket(emptyAt: restartedAt, rate: rate) }
    ownTokens = OwnTokens(restartedAt: restartedAt)
  }

  /// For so long its route is remembered without work: URLs wait for their retries, for example.
  private static let routeMemory = Duration.seconds(600)

  /// The proxy has failed for it.
  mutating func noteProxied(at now: Instant) {
    route = .proxied
    routeForgottenAt = now + Self.routeMemory
  }

  /// Until when it is remembered without work; `nil` if nothing of it is of interest.
  var rememberedUntil: Instant? {
    [health.failuresForgottenAt, routeForgottenAt].compactMap(\.self).max()
  }

  /// URLs, and transfers that were redirected here, that wait for it.
  var urlCount: Int { origins.reduce(0) { $0 + $1.waiting.count + $1.redirected.count } }

  /// The sources that wait for a transfer of their own, in no order.
  var waiting: [SourceID] { origins.flatMap(\.waiting.keys) }

  /// The transfers that redirects lead here, in no order.
  package var redirected: [TransferID] { origins.flatMap(\.redirected.keys) }

  /// Whether a transfer that was redirected here waits for an origin that may be asked.
  func hasRedirected(at now: Instant) -> Bool {
    origins.contains { $0.mostUrgentRedirected(at: now, ownTokens) != nil }
  }

  /// The most urgent that waits for a slot, of the origins that may be asked; `nil` when nothing does. That it
  /// has failed counts at this host alone.
  func mostUrgent(at now: Instant) -> Urgency? {
    func urgency(of queue: OriginQueue) -> Urgency? {
      queue.mostUrgentSource(at: now, ownTokens)
        .orLess(queue.mostUrgentRedirected(at: now, ownTokens))
    }
    return next(urgency).flatMap { urgency(of: origins[$0]) }?.afterFailures(0)
  }

  /// Whether what waits for an origin comes after other origins: lines of the one that was tried last in an outage.
  /// Certificates may keep `https` from working where `http` works.
  package func comesLast(_ origin: String, _ urgency: Urgency) -> Bool {
    urgency.viewer == 0 && origin == heldOrigin
  }

  /// The index of the origin whose turn it is.
  private func next(_ urgency: (OriginQueue) -> Urgency?) -> Int? {
    var next: (index: Int, isLast: Bool, urgency: Urgency)?
    for index in origins.indices {
      guard let urgency = urgency(origins[index]) else { continue }
      let isLast = comesLast(origins[index].origin, urgency)
      let isBefore = next.map { isLast == $0.isLast ? urgency < $0.urgency : $0.isLast } ?? true
      if isBefore { next = (index, isLast, urgency) }
    }
    return next?.index
  }

  private func index(of origin: String) -> Int? { origins.firstIndex { $0.origin == origin } }

  /// The index of an origin, which is added if it is not there.
  private mutating func addedIndex(of origin: String) -> Int {
    if let index = index(of: origin) { return index }
    origins.append(OriginQueue(origin))
    return origins.count - 1
  }

  /// When the next of the origins may be asked that something waits for and that has a pause; `nil` if there
  /// is none.
  func nextPauseEnd(at now: Instant) -> Instant? {
    origins.reduce(nil as Instant?) { $0.orLess($1.pauseEnd(at: now)) }
  }

  /// When the next of those that wait for a token of their own pace alone gets it; `nil` if none waits for one.
  func nextOwnToken(at now: Instant) -> OwnTokens.Next? {
    origins.compactMap { $0.nextOwnToken(at: now, ownTokens) }.min()
  }

  /// When time alone lets more of what waits here start; `nil` if it lets none.
  func nextChance(at now: Instant) -> Instant? {
    nextPauseEnd(at: now).orLess(nextOwnToken(at: now)?.at)
  }

  /// Until when a pause of an origin has to be remembered; `nil` if none has.
  func pausesEnd(at now: Instant) -> Instant? {
    origins.compactMap { $0.pause(at: now)?.until }.max()
  }

  /// The pause that an origin has asked for; `nil` if there is none, or it is over.
  func retryAfter(of origin: String, at now: Instant) -> RetryAfter? {
    index(of: origin).flatMap { origins[$0].pause(at: now) }
  }

  /// Forgets the origins for which nothing waits, and that have no pause.
  mutating func forgetIdleOrigins(at now: Instant) {
    origins.removeAll { $0.isEmpty && $0.pause(at: now) == nil }
  }

  // MARK: - Waiting

  /// Queues a source, or changes its urgency.
  mutating func insert(_ source: SourceID, of origin: String, _ urgency: Urgency) {
    origins[addedIndex(of: origin)].waiting.set(source, to: queueUrgency(urgency, of: source))
  }

  /// The urgency of a source in the queue of the host. Lines that have failed because of the host take turns,
  /// behind those that have not, until the host answers. So no line loses all its attempts to one outage, and a
  /// URL that fails at a host that is well is not the only one that asks whether the host answers again.
  package func queueUrgency(_ urgency: Urgency, of source: SourceID) -> Urgency {
    urgency.afterFailures(failureCounts[source] ?? 0)
  }

  mutating func remove(_ source: SourceID) {
    for index in origins.indices { origins[index].waiting.remove(source) }
    if isNoSourceWaiting { health.cancelProbe() }
  }

  private var isNoSourceWaiting: Bool { origins.allSatisfy(\.waiting.isEmpty) }

  /// Queues a transfer that was redirected here, or changes its urgency.
  mutating func insert(redirected transfer: TransferID, to origin: String, _ urgency: Urgency) {
    origins[addedIndex(of: origin)].redirected.set(transfer, to: urgency)
  }

  mutating func remove(redirected transfer: TransferID) {
    for index in origins.indices { origins[index].redirected.remove(transfer) }
  }

  // MARK: - Slots

  /// Takes the most urgent source, which gets a slot, and the tokens of its own pace.
  mutating func start(at now: Instant) -> SourceID? {
    guard let index = next({ $0.mostUrgentSource(at: now, ownTokens) }) else { return nil }
    return begin(origins[index].startSource(at: now, ownTokens), at: now)
  }

  /// The same of the transfers that were redirected here.
  mutating func startRedirected(at now: Instant) -> TransferID? {
    guard let index = next({ $0.mostUrgentRedirected(at: now, ownTokens) }) else { return nil }
    return begin(origins[index].startRedirected(at: now, ownTokens), at: now)
  }

  private mutating func begin<Key>(_ started: Started<Key>?, at now: Instant) -> Key? {
    guard let started else { return nil }
    ownTokens.take(for: started.urgency.pace, at: now)
    underWay += 1
    return started.key
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
  mutating func changeRate(from old: TransferRate, to new: TransferRate, at now: Instant) {
    bucket.change(from: old, to: new, at: now)
  }

  /// Its robots.txt asks for a time between requests. The first begins now.
  mutating func noteCrawlDelay(_ delay: Duration, at now: Instant) {
    ownTokens.noteCrawlDelay(delay, at: now)
  }

  /// A transfer takes a token.
  mutating func takeToken(at now: Instant, rate: TransferRate) {
    bucket.take(at: now, rate: rate)
  }

  /// Something beside the transfers takes a token, see ``TokenBucket/takeUnasked(at:rate:)``.
  mutating func takeTokenUnasked(at now: Instant, rate: TransferRate?) {
    if let rate { bucket.takeUnasked(at: now, rate: rate) }
    ownTokens.takeUnasked(at: now)
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
  mutating func wantProbe(for command: CommandID, at now: Instant) {
    health.wantProbe(for: command, isProbing: probe != nil, at: now)
  }

  /// An origin has sent Retry-After: it is not asked before then.
  mutating func coolDown(_ origin: String, _ pause: RetryAfter) {
    if index(of: origin) == nil, origins.count >= Self.maximumIdleOriginCount { forgetIdleOrigin() }
    origins[addedIndex(of: origin)].coolDown(pause)
  }

  /// So many pauses of origins that nothing waits for are remembered. A host may have 65,535 ports.
  private static let maximumIdleOriginCount = 64

  /// Forgets the pause that ends first, of the origins that nothing waits for.
  private mutating func forgetIdleOrigin() {
    let idle = origins.indices.compactMap { index in
      origins[index].isEmpty ? origins[index].pause.map { (index, $0.until) } : nil
    }
    if let first = idle.min(by: { $0.1 < $1.1 }) { origins.remove(at: first.0) }
  }

  /// The host has answered a transfer.
  ///
  /// - Parameter failedAt: see ``HostHealth/answered(failedAt:)``.
  mutating func answered(failedAt: Instant?) {
    health.answered(failedAt: failedAt)
    probe = nil
    heldOrigin = nil
    isAnswerAwaited = false
    guard !failureCounts.isEmpty else { return }
    failureCounts = [:]
    for index in origins.indices { origins[index].waiting.forgetFailures() }
  }

  /// A transfer from an origin has failed because of the network.
  mutating func held(_ origin: String) {
    heldOrigin = origin
  }

  /// A source's transfer has failed because of the host.
  ///
  /// - Returns: whether it was the probe.
  mutating func failed(
    _ failure: Failure, of source: SourceID, begunAt: Instant, at now: Instant
  ) -> Bool {
    let isProbe = probe == source || health.isProbe(begunAt: begunAt)
    if probe == source { probe = nil }
    isAnswerAwaited = false
    health.failed(failure, begunAt: begunAt, at: now)
    // Of a host that is down no line is left.
    if health.downBecause == nil {
      failureCounts[source, default: 0] += 1
    } else {
      failureCounts = [:]
    }
    return isProbe
  }

  /// Why requests need not wait for the host now; `nil` when they should, or when one of them will
  /// be the next to try.
  func downBecause(at now: Instant) -> Failure? {
    guard probe == nil, !health.isProbeWanted, let until = health.coolingDownUntil, until > now
    else { return nil }
    return health.downBecause
  }

  /// Why the host is not asked now, because it failed; `nil` if it may be, or if a probe comes first.
  func outage(at now: Instant) -> Outage? {
    guard probe == nil, !health.isProbeWanted else { return nil }
    return health.outage(at: now)
  }

  /// Whether the host fails, by all that is known: it has a cooldown, or the origin has, or a transfer is
  /// about to show whether it still fails. Its failures are such that stale pictures may be served instead.
  func isFailing(for origin: String, at now: Instant) -> Bool {
    if let pause = retryAfter(of: origin, at: now),
      Failure.permitsStale(httpStatus: pause.httpStatus)
    {
      return true
    }
    guard health.isTripped, health.lastFailure?.permitsStale == true else { return false }
    return underWay > 0 || health.coolingDownUntil.map { $0 > now } ?? false
  }
}

/// Whether a host is asked at all: a circuit breaker. A host that fails again and again gets a
/// cooldown and is then asked once; every answer that shows it alive closes the breaker. What counts as a
/// failure of the host is `Failure.isOfHost`: an error page or a broken-off picture is that of its URL.
///
///     closed ── failures in a row ──► open ── cooldown ──► half-open ── an answer ──► closed
///                                      ▲                       │
///                                      └────── a failure ──────┘
///
/// A host that fails again and again while the breaker is half-open is *down*: requests for it do not
/// wait, and fail with its last failure instead.
///
/// An explicit command of a person (`get`, `retry`) overrides the breaker once: one transfer, the
/// probe, starts at once. It does not override Retry-After (see ``OriginQueue``): the origin has named the
/// time, a request before it is known to be in vain, and may make the origin wait longer (RFC 9110 section
/// 10.2.3, RFC 6585 section 4). The probe starts when that time has come.
///
/// A probe that fails shows something of the host, not of its URL. If only lines wait for the URL, the probe is
/// no attempt of theirs: see ``Fetches/repeatAttempt(_:because:at:)``.
///
/// The failures of all ports and schemes of the host count, because what does not answer is mostly the
/// machine.
package struct HostHealth: Equatable {
  /// So many transfers in a row have failed because of the host.
  private(set) var failureCount = 0
  /// How often in a row the breaker has opened.
  private(set) var tripCount = 0
  /// Until when it is not asked, because it failed.
  private var openUntil: Instant?
  private(set) var lastFailure: Failure?
  /// Whether it has ever answered, as far as that is remembered.
  private(set) var hasAnswered = false
  private var failedAt: Instant?
  /// The newest command that has come, see ``wantProbe(for:isProbing:at:)``.
  private var lastCommand: CommandID?
  /// Whether the next transfer starts in spite of the breaker.
  package private(set) var isProbeWanted = false
  /// The first cooldown; each further one is twice as long, up to ``longestCooldown``.
  private let shortestCooldown: Duration

  /// More than run at one host at once by default, so that one hiccup is not a row.
  static let failureMaximum = 10
  /// Cooldowns after which a host is down: by then it has failed for more than a minute with the
  /// default backoff, longer than a server takes to start again.
  static let tripMaximum = 5
  private static let longestCooldown = Duration.seconds(300)
  /// The first cooldown, as a multiple of the longest wait before the first retry of a URL.
  private static let cooldownPerBackoff = 5

  /// - Parameter backoff: the longest wait before the first retry of a URL.
  init(backoff: Duration) {
    shortestCooldown = min(backoff * Self.cooldownPerBackoff, Self.longestCooldown)
  }

  /// Whether the breaker is open or half-open: the host is asked only once at a time.
  package var isTripped: Bool { tripCount > 0 }

  /// Why requests need not wait for the host; `nil` when they should.
  var downBecause: Failure? { tripCount >= Self.tripMaximum ? lastFailure : nil }

  /// Why it is not asked now, because it failed; `nil` if it may be.
  func outage(at now: Instant) -> Outage? {
    guard let openUntil, openUntil > now, let lastFailure else { return nil }
    return Outage(until: openUntil, failure: lastFailure)
  }

  /// It has answered, with any status that is not a failure of the host.
  ///
  /// - Parameter failedAt: when the transfer failed nevertheless, whose URL may ask again; `nil` if it did not.
  mutating func answered(failedAt: Instant? = nil) {
    hasAnswered = true
    failureCount = 0
    tripCount = 0
    lastFailure = nil
    self.failedAt = failedAt
    openUntil = nil
    isProbeWanted = false
  }

  /// Whether a transfer that began then asks if the host answers again.
  func isProbe(begunAt: Instant) -> Bool { openUntil.map { $0 <= begunAt } ?? false }

  /// A transfer has failed because of the host.
  mutating func failed(_ failure: Failure, begunAt: Instant, at now: Instant) {
    lastFailure = failure
    failedAt = now
    failureCount += 1
    guard isTripped || failureCount >= Self.failureMaximum else { return }
    // What began before the cooldown was over says nothing new.
    if let openUntil, begunAt < openUntil { return }
    openUntil = now + min(shortestCooldown * (1 << min(tripCount, 6)), Self.longestCooldown)
    tripCount += 1
  }

  // MARK: - Probes

  /// An explicit command needs the host. If the host has a cooldown when the command comes, one
  /// transfer starts nevertheless: one for the command, however many URLs it has.
  ///
  /// - Parameter isProbing: whether a probe is under way, whose result serves this command, too.
  mutating func wantProbe(for command: CommandID, isProbing: Bool, at now: Instant) {
    guard lastCommand.map({ $0 < command }) ?? true else { return }
    lastCommand = command
    if !isProbing, let until = coolingDownUntil, until > now { isProbeWanted = true }
  }

  /// The probe starts, or nothing waits for it any more.
  mutating func cancelProbe() { isProbeWanted = false }

  /// The probe has ended and told nothing about the host: the next transfer is the probe.
  mutating func repeatProbe() { isProbeWanted = true }

  /// When the next transfer may start; `nil` or past when it may now.
  package var nextAttempt: Instant? { isProbeWanted ? nil : openUntil }

  // MARK: - Memory

  /// For how long failures in a row are remembered while nothing waits for the host. Redirects lead
  /// to a host one after the other, with pauses between them.
  static let failureMemory = Duration.seconds(60)

  /// Until when its failures in a row are remembered, or that it has answered; `nil` if no transfer has failed last.
  var failuresForgottenAt: Instant? { failedAt.map { $0 + Self.failureMemory } }

  /// Until when it is not asked; `nil` or past when it may be.
  var coolingDownUntil: Instant? { openUntil }

  /// When nothing of it needs to be remembered any more; `nil` when nothing is now.
  var forgettableAt: Instant? {
    coolingDownUntil.map { isTripped ? $0 + Self.longestCooldown : $0 }
  }
}
