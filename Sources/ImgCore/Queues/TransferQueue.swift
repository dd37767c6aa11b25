import ImgModel

/// The URLs that wait for a transfer, by host, and the places they wait for. How the next one is
/// chosen is in `NextURL.swift`.
///
/// Each host keeps its own URLs in order; only hosts that could start one now compete, each with
/// its most urgent URL. A full host therefore stands in nobody's way, however many URLs wait for
/// it.
///
/// A few places are for hosts alone whose last transfer was soon over. Else many hosts that are slow
/// would hold all places in the end, and those that are not would be served at their pace.
struct TransferQueue {
  struct Host {
    var waiting = PriorityQueue<SourceID, Urgency>()
    /// Transfers that redirects lead here. They have begun, so they go before those that have not.
    var redirected = PriorityQueue<LeaseID, Urgency>()
    var underWay = 0
    /// Its transfers that wait for slots at other hosts. Those that have not begun wait for these,
    /// but those that are redirected here do not, else two hosts could wait for each other.
    var redirectingCount = 0
    var bucket = TokenBucket()
    var health: HostHealth
    /// Whether its last transfer was soon over.
    var isPrompt = false
    /// The origins at the host whose robots.txt somebody has gone to read.
    var scoutedOrigins: Set<String> = []
    /// Whose transfer is the first of its origin that asks for it: until it has that, or has ended,
    /// none begins at the host, so that others find what it has learned.
    var scout: SourceID?
    /// Whose transfer is the probe of an explicit command, see ``HostHealth``.
    var probe: SourceID?
  }

  private var limit: Int
  private(set) var limitPerHost: Int
  private(set) var rate: TransferRate?
  /// Of a host that nothing is known of.
  private let newHost: Host

  /// The hosts with a URL that waits, a transfer under way, a bucket that is not full, or a health
  /// that is of interest.
  private(set) var hosts: [String: Host] = [:]
  /// The hosts with a URL that waits, a free place and a token, each as urgent as its most urgent
  /// URL: those that are prompt, and the others.
  private(set) var promptStartable = PriorityQueue<String, Urgency>()
  private(set) var otherStartable = PriorityQueue<String, Urgency>()
  /// The same of the hosts where a transfer waits that was redirected.
  private(set) var promptRedirects = PriorityQueue<String, Urgency>()
  private(set) var otherRedirects = PriorityQueue<String, Urgency>()
  /// The hosts that only time keeps from starting, or from being forgotten, and until when.
  private(set) var resting = PriorityQueue<String, ContinuousClock.Instant>()
  /// The hosts that have only failures in a row to remember, and until when.
  private(set) var remembered = PriorityQueue<String, ContinuousClock.Instant>()
  private(set) var underWay = 0
  /// Of them, those at hosts that are not prompt.
  private var otherUnderWay = 0

  /// What a long list of dead hosts may cost in memory. Beyond it the first to be forgotten is
  /// forgotten at once.
  static let rememberedMaximum = 4_096
  /// What counts as soon.
  private static let promptTime = Duration.seconds(2)

  init(_ limits: Limits) {
    limit = limits.transfers
    limitPerHost = limits.transfersPerHost
    rate = Self.rate(limits)
    newHost = Host(health: HostHealth(backoff: .milliseconds(limits.backoffMilliseconds)))
  }

  private static func rate(_ limits: Limits) -> TransferRate? {
    limits.hostRatePerMinute > 0 ? TransferRate(perMinute: limits.hostRatePerMinute) : nil
  }

  /// From now on these limits hold; what is under way beyond them comes to its end.
  mutating func apply(_ limits: Limits, at now: ContinuousClock.Instant) {
    limit = limits.transfers
    limitPerHost = limits.transfersPerHost
    let oldRate = rate
    rate = Self.rate(limits)
    for host in hosts.keys.sorted() {
      if let oldRate, let rate { hosts[host]?.bucket.change(from: oldRate, to: rate, at: now) }
      update(host, at: now)
    }
  }

  var hasPlace: Bool { underWay < limit }

  /// Whether a place is left for a host that is not prompt. What is kept for the others is what one
  /// host may have, and at most an eighth; a person who waits may have that too.
  func hasPlaceForOther(_ urgency: Urgency) -> Bool {
    guard hasPlace else { return false }
    return urgency.viewer > 0 || otherUnderWay < limit - min(limitPerHost, limit / 8)
  }

  /// When a host may go on that rests now, or is forgotten.
  var deadline: ContinuousClock.Instant? {
    [resting.first?.priority, remembered.first?.priority].compactMap(\.self).min()
  }

  /// Queues a URL, or changes the urgency of one that is queued.
  mutating func insert(
    _ source: SourceID, host: String, urgency: Urgency, at now: ContinuousClock.Instant
  ) {
    change(host) { $0.waiting.set(source, to: urgency) }
    update(host, at: now)
  }

  mutating func remove(_ source: SourceID, host: String, at now: ContinuousClock.Instant) {
    hosts[host]?.waiting.remove(source)
    if hosts[host]?.waiting.isEmpty == true { hosts[host]?.health.endProbeWish() }
    update(host, at: now)
  }

  /// Takes the most urgent URL of a startable host and, for it, one place of the cluster, one of
  /// the host and one of its tokens. The places go back by ``release(_:host:isRedirected:at:)``.
  mutating func start(_ host: String, at now: ContinuousClock.Instant) -> SourceID? {
    guard let source = hosts[host]?.waiting.removeFirst() else { return nil }
    takeSlot(of: host, at: now)
    noteStart(of: source, host: host, at: now)
    return source
  }

  /// The same for the most urgent transfer that was redirected to the host.
  mutating func startRedirected(_ host: String, at now: ContinuousClock.Instant) -> LeaseID? {
    guard let transfer = hosts[host]?.redirected.removeFirst() else { return nil }
    takeSlot(of: host, at: now)
    return transfer
  }

  private mutating func takeSlot(of host: String, at now: ContinuousClock.Instant) {
    underWay += 1
    if hosts[host]?.isPrompt == false { otherUnderWay += 1 }
    hosts[host]?.underWay += 1
    if let rate { hosts[host]?.bucket.take(at: now, rate: rate) }
    update(host, at: now)
  }

  /// Gives back the places of a transfer whose last byte is in, or which ended.
  ///
  /// - Parameter isRedirected: whether the transfer goes on at another host, see
  ///   ``endRedirect(from:at:)``.
  mutating func release(
    _ source: SourceID, host: String, isRedirected: Bool = false,
    at now: ContinuousClock.Instant
  ) {
    guard let count = hosts[host]?.underWay, count > 0 else {
      preconditionFailure("a place is given back that was not taken")
    }
    underWay -= 1
    if hosts[host]?.isPrompt == false { otherUnderWay -= 1 }
    hosts[host]?.underWay = count - 1
    if isRedirected { hosts[host]?.redirectingCount += 1 }
    if hosts[host]?.scout == source { hosts[host]?.scout = nil }
    if hosts[host]?.probe == source {
      hosts[host]?.probe = nil
      if hosts[host]?.waiting.isEmpty == false { hosts[host]?.health.repeatProbe() }
    }
    update(host, at: now)
  }

  // MARK: - Redirects

  /// Queues a transfer that was redirected to the host, or changes its urgency.
  mutating func insert(
    redirected transfer: LeaseID, host: String, urgency: Urgency, at now: ContinuousClock.Instant
  ) {
    change(host) { $0.redirected.set(transfer, to: urgency) }
    update(host, at: now)
  }

  mutating func remove(
    redirected transfer: LeaseID, host: String, at now: ContinuousClock.Instant
  ) {
    hosts[host]?.redirected.remove(transfer)
    update(host, at: now)
  }

  func redirected(to host: String) -> [LeaseID] { hosts[host]?.redirected.keys ?? [] }

  /// A transfer that the host has redirected waits no more.
  mutating func endRedirect(from host: String, at now: ContinuousClock.Instant) {
    hosts[host]?.redirectingCount -= 1
    update(host, at: now)
  }

  // MARK: - Robots

  /// What a source's transfer has gone to learn is known.
  mutating func endScouting(
    _ source: SourceID, host: String, at now: ContinuousClock.Instant
  ) {
    guard hosts[host]?.scout == source else { return }
    hosts[host]?.scout = nil
    update(host, at: now)
  }

  /// The host was asked for something beside the transfers: the next one begins so much later.
  mutating func takeToken(of host: String, at now: ContinuousClock.Instant) {
    guard let rate else { return }
    change(host) { $0.bucket.takeUnasked(at: now, rate: rate) }
    update(host, at: now)
  }

  /// A transfer that has begun asks for the robots.txt of its origin. The first of them goes alone.
  mutating func scout(
    _ origin: String, for source: SourceID, host: String, at now: ContinuousClock.Instant
  ) {
    guard hosts[host]?.scoutedOrigins.insert(origin).inserted == true else { return }
    hosts[host]?.scout = source
    update(host, at: now)
  }

  // MARK: - Health

  /// The host has answered a transfer.
  mutating func answered(
    _ host: String, begunAt: ContinuousClock.Instant, at now: ContinuousClock.Instant
  ) {
    guard hosts[host] != nil else { return }
    setPrompt(now - begunAt <= Self.promptTime, host)
    hosts[host]?.health.answered()
    hosts[host]?.probe = nil
    update(host, at: now)
  }

  private mutating func setPrompt(_ isPrompt: Bool, _ host: String) {
    guard let known = hosts[host], known.isPrompt != isPrompt else { return }
    otherUnderWay += isPrompt ? -known.underWay : known.underWay
    hosts[host]?.isPrompt = isPrompt
  }

  /// A source's transfer has failed for the host's sake.
  mutating func failed(
    _ failure: Failure, of source: SourceID, host: String, begunAt: ContinuousClock.Instant,
    at now: ContinuousClock.Instant
  ) {
    setPrompt(false, host)
    if hosts[host]?.probe == source { hosts[host]?.probe = nil }
    hosts[host]?.health.failed(failure, begunAt: begunAt, at: now)
    update(host, at: now)
  }

  /// The host does not want to be asked before then.
  mutating func rest(
    _ host: String, until moment: ContinuousClock.Instant, at now: ContinuousClock.Instant
  ) {
    change(host) { $0.health.rest(until: moment) }
    update(host, at: now)
  }

  /// An explicit command needs the host: see ``HostHealth/wantProbe(for:isProbing:at:)``.
  mutating func wantProbe(
    of host: String, for command: CommandID, at now: ContinuousClock.Instant
  ) {
    guard let known = hosts[host] else { return }
    hosts[host]?.health.wantProbe(for: command, isProbing: known.probe != nil, at: now)
    // What changes counts when a URL is queued.
  }

  /// A source's transfer has started at the host: it is the probe where one is wanted.
  mutating func noteStart(
    of source: SourceID, host: String, at now: ContinuousClock.Instant
  ) {
    guard hosts[host]?.health.isProbeWanted == true else { return }
    hosts[host]?.health.endProbeWish()
    hosts[host]?.probe = source
    update(host, at: now)
  }

  /// Why it is of no use to wait for the host now; `nil` when it is, or when one who waits will be
  /// the next to try.
  func downBecause(_ host: String, at now: ContinuousClock.Instant) -> Failure? {
    guard let host = hosts[host], host.probe == nil, !host.health.isProbeWanted,
      let until = host.health.restsUntil, until > now
    else { return nil }
    return host.health.downBecause
  }

  /// Whether the host fails, by all that is known: it is left alone, or somebody is about to find out
  /// whether it still does. Its failures are such that what is stale may be given out in their place.
  func isFailing(_ host: String, at now: ContinuousClock.Instant) -> Bool {
    guard let host = hosts[host], host.health.isOnProbation,
      host.health.lastFailure?.permitsStale == true
    else { return false }
    return host.underWay > 0 || host.health.restsUntil.map { $0 > now } ?? false
  }

  func waiting(for host: String) -> [SourceID] { hosts[host]?.waiting.keys ?? [] }

  /// Lets the hosts go on whose rest is over.
  mutating func wake(at now: ContinuousClock.Instant) {
    while let (host, until) = resting.first, until <= now {
      resting.remove(host)
      update(host, at: now)
    }
    while let (host, until) = remembered.first, until <= now {
      remembered.remove(host)
      update(host, at: now)
    }
  }

  /// Changes a host, also one that nothing was known of.
  private mutating func change(_ host: String, _ body: (inout Host) -> Void) {
    var changed = hosts.removeValue(forKey: host) ?? newHost
    body(&changed)
    hosts[host] = changed
  }

  /// Brings the host's standing among the others up to date, and forgets a host without work.
  private mutating func update(_ name: String, at now: ContinuousClock.Instant) {
    guard let host = hosts[name] else { return }
    promptStartable.remove(name)
    otherStartable.remove(name)
    promptRedirects.remove(name)
    otherRedirects.remove(name)
    resting.remove(name)
    remembered.remove(name)
    switch standing(of: host, at: now) {
    case .startable(let urgency):
      switch (host.isPrompt, host.redirected.isEmpty) {
      case (true, true): promptStartable.set(name, to: urgency)
      case (false, true): otherStartable.set(name, to: urgency)
      case (true, false): promptRedirects.set(name, to: urgency)
      case (false, false): otherRedirects.set(name, to: urgency)
      }
    case .resting(let until): resting.set(name, to: until)
    case .remembered(let until):
      remembered.set(name, to: until)
      if remembered.count > Self.rememberedMaximum, let first = remembered.removeFirst() {
        hosts[first] = nil
      }
    case .full: break
    case .idle: hosts[name] = nil
    }
  }
}
