import ImgModel

/// How urgent a URL is among all that wait; the least is next.
///
/// Viewers go before jobs; among viewers, by priority and then the newest first; among jobs, by priority
/// and then by start tag.
/// Of all that wait for one URL, the most urgent counts.
package struct Urgency: Hashable, Comparable {
  /// The newest viewer's number; 0 when only jobs wait.
  package let viewer: UInt64
  /// The request's priority; below all of them where no request waits.
  let priority: Int
  /// The line's start tag among the jobs of its priority, by start-time fair queueing (Goyal, Vin
  /// and Cheng 1996). The tags of a job's lines count up. The first line of a job that comes later
  /// gets the tag after the highest one served. So jobs share in turn however long their lists are,
  /// each in the order of its list, and a job that was idle for a while has saved nothing up.
  let startTag: UInt64
  /// The order in which URLs were taken up.
  let sequence: UInt64
  /// What limits its starts at a host beside the rate of the cluster. No part of the order.
  package let pace: OwnPace
  /// Lines go behind those of their host that have failed less often, see ``Host/queueUrgency(_:of:)``.
  private var failureCount = 0

  /// - Parameter respectsRobots: whether the request does.
  package init(of waiter: Waiter, item: WorkID, respectsRobots: Bool) {
    viewer = waiter.viewer?.rawValue ?? 0
    priority = waiter.priority
    startTag = waiter.startTag
    sequence = item.rawValue
    pace = OwnPace(perMinute: waiter.hostRatePerMinute, respectsRobots: respectsRobots)
  }

  /// Of a line that waits for a slot behind others.
  init(priority: Int, startTag: UInt64, item: WorkID) {
    viewer = 0
    self.priority = priority
    self.startTag = startTag
    sequence = item.rawValue
    pace = OwnPace()
  }

  private var isOfViewer: Bool { viewer > 0 }

  /// The same after so many failures because of the host. Viewers need not wait behind others.
  func afterFailures(_ count: Int) -> Self {
    var urgency = self
    urgency.failureCount = isOfViewer ? 0 : count
    return urgency
  }

  package static func < (left: Self, right: Self) -> Bool {
    if left.isOfViewer != right.isOfViewer { return left.isOfViewer }
    if left.failureCount != right.failureCount { return left.failureCount < right.failureCount }
    if left.priority != right.priority { return left.priority > right.priority }
    if left.viewer != right.viewer { return left.viewer > right.viewer }
    if left.startTag != right.startTag { return left.startTag < right.startTag }
    return left.sequence < right.sequence
  }
}

extension TransferQueue {
  /// What may start, see ``NetworkHealth``.
  enum Gate: Equatable {
    case open
    /// Nothing but the requests of viewers.
    case viewersOnly
    /// The same, or one URL of the host whose name comes after that of another one.
    case trial(after: String?)
  }

  /// How urgent the next URL is; `nil` when none may start.
  var mostUrgent: Urgency? { nextHost?.urgency }

  /// Takes the most urgent URL of all hosts that have a slot and a token.
  mutating func next(at now: Instant) -> SourceID? {
    nextHost.flatMap { start($0.id, at: now) }
  }

  /// Takes the most urgent transfer that was redirected to a host which has a slot and a token. What
  /// has begun goes before all that has not.
  mutating func nextRedirected(at now: Instant) -> TransferID? {
    mostUrgent(of: index.redirects).flatMap { startRedirected($0.id, at: now) }
  }

  private var nextHost: (id: HostID, urgency: Urgency)? {
    let direct = nextHost(by: .direct)
    guard let proxied = nextHost(by: .proxied) else { return direct }
    return direct.map { $0.urgency < proxied.urgency ? $0 : proxied } ?? proxied
  }

  private func nextHost(by route: NetworkRoute) -> (id: HostID, urgency: Urgency)? {
    let mostUrgent = mostUrgent(of: index.startable[route])
    if gates[route] == .open || mostUrgent?.urgency.viewer ?? 0 > 0 { return mostUrgent }
    guard case .trial(let last) = gates[route], hasSlot else { return nil }
    return nextForTrial(of: route, after: last).map { ($0.id, $0.urgency) }
  }

  /// The startable host of a route whose name comes next, so that each has its turn.
  func nextForTrial(
    of route: NetworkRoute, after last: String?
  ) -> (name: String, id: HostID, urgency: Urgency)? {
    let hosts = index.startable[route].all.map { (name: name(of: $0), id: $0, urgency: $1) }
    return hosts.filter { $0.name > last ?? "" }.min { $0.name < $1.name }
      ?? hosts.min { $0.name < $1.name }
  }

  /// Of the hosts for which a slot is free, the most urgent one. Where none is, that of the viewers for whom
  /// slow transfers make room: first of those whose hosts are not slow themselves.
  private func mostUrgent(of queues: HostIndex.Queues) -> (id: HostID, urgency: Urgency)? {
    func makesRoom(_ pace: HostPace, _ host: HostID, _ urgency: Urgency) -> Bool {
      urgency.viewer > 0 && canMakeRoom(for: host, pace)
    }
    return mostUrgent(of: queues, HostPace.allCases) { pace, _, urgency in
      hasSlot(for: pace, urgency)
    }
      ?? mostUrgent(of: queues, [.responsive, .unproven], where: makesRoom)
      ?? mostUrgent(of: queues, [.slow], where: makesRoom)
  }

  /// The most urgent of the first hosts of these paces that fit.
  private func mostUrgent(
    of queues: HostIndex.Queues, _ paces: [HostPace],
    where isFit: (HostPace, HostID, Urgency) -> Bool
  ) -> (id: HostID, urgency: Urgency)? {
    var found: (id: HostID, urgency: Urgency)?
    for pace in paces {
      guard let (host, urgency) = queues.first(pace), isFit(pace, host, urgency) else { continue }
      if found.map({ urgency < $0.urgency }) ?? true { found = (host, urgency) }
    }
    return found
  }

  /// What a host may do at a moment.
  enum Standing {
    /// Start its most urgent URL as soon as the cluster has a slot.
    case startable(Urgency)
    /// Nothing before a token comes and its cooldown is over; or, for a host without work, before its
    /// bucket is full and its health of no interest: forgotten any earlier, it would have all its
    /// tokens again at once, and a closed circuit breaker.
    case coolingDown(until: Instant)
    /// Be forgotten then, or earlier when there are many such hosts: it has no work, and only its
    /// failures in a row, or its route, are of interest.
    case remembered(until: Instant)
    /// Nothing before one of its transfers ends.
    case full
    /// Be forgotten.
    case idle
  }

  func standing(of host: Host, at now: Instant) -> Standing {
    guard host.urlCount > 0 else {
      if host.underWay > 0 || host.redirectingCount > 0 { return .full }
      let memories = [
        host.bucket.fullAt, host.ownTokens.fullAt, host.health.forgettableAt,
        host.pausesEnd(at: now),
      ].compactMap(\.self)
      if let until = memories.max(), until > now { return .coolingDown(until: until) }
      guard let until = host.rememberedUntil, until > now else { return .idle }
      return .remembered(until: until)
    }
    if host.robotsProbe != nil { return .full }
    let isOneAtATime =
      host.health.isTripped && !host.health.isProbeWanted || host.isAnswerAwaited
    let isForViewer = host.mostUrgent(at: now).map { $0.viewer > 0 } ?? false
    let limit = isOneAtATime ? 1 : limitPerHost(isForViewer: isForViewer)
    let redirectingCount = host.hasRedirected(at: now) ? 0 : host.redirectingCount
    if host.underWay + redirectingCount >= limit { return .full }
    let moments = [token(of: host), host.health.nextAttempt]
    if let until = moments.compactMap(\.self).max(), until > now {
      return .coolingDown(until: until)
    }
    if let mostUrgent = host.mostUrgent(at: now) { return .startable(mostUrgent) }
    return host.nextChance(at: now).map { .coolingDown(until: $0) } ?? .full
  }
}

/// The hosts by what they may do, see ``TransferQueue/Standing``: only hosts that could start a
/// transfer now compete.
struct HostIndex {
  /// Hosts by their pace, each as urgent as its most urgent URL.
  struct Queues {
    private var queues = [PriorityQueue<HostID, Urgency>](
      repeating: PriorityQueue(), count: HostPace.allCases.count)

    func first(_ pace: HostPace) -> (key: HostID, priority: Urgency)? {
      queues[pace.rawValue].first
    }

    /// All of them, in no order.
    var all: [(key: HostID, priority: Urgency)] { queues.flatMap(\.all) }

    fileprivate mutating func set(_ host: HostID, _ pace: HostPace, to urgency: Urgency) {
      queues[pace.rawValue].set(host, to: urgency)
    }

    fileprivate mutating func remove(_ host: HostID) {
      for index in queues.indices { queues[index].remove(host) }
    }
  }

  /// The hosts with a URL that waits, a free slot and a token.
  private(set) var startable = ByRoute(Queues())
  /// The same of the hosts where a transfer waits that was redirected.
  private(set) var redirects = Queues()
  /// The hosts that only time keeps from starting, or from being forgotten, and until when.
  private var coolingDown = PriorityQueue<HostID, Instant>()
  /// The hosts that something waits for at an origin with a pause, or for a token of its job's rate, and until when.
  /// Something else may be asked of them meanwhile.
  private var paused = PriorityQueue<HostID, Instant>()
  /// The hosts that have only failures in a row, or a route, to remember, and until when.
  private var remembered = PriorityQueue<HostID, Instant>()

  /// What a long list of dead hosts may cost in memory. Beyond it the first to be forgotten is
  /// forgotten at once.
  static let rememberedMaximum = 4_096

  /// When a host may go on that has a cooldown now, or is forgotten.
  var deadline: Instant? {
    (coolingDown.first?.priority).orLess(paused.first?.priority).orLess(remembered.first?.priority)
  }

  mutating func remove(_ host: HostID) {
    for route in NetworkRoute.allCases { startable[route].remove(host) }
    redirects.remove(host)
    coolingDown.remove(host)
    paused.remove(host)
    remembered.remove(host)
  }

  /// Among which hosts one competes.
  struct Place {
    let pace: HostPace
    let route: NetworkRoute
    /// Whether a transfer that was redirected is among those that wait.
    let isRedirect: Bool
  }

  /// The host may start the transfer of this urgency.
  mutating func setStartable(_ host: HostID, _ urgency: Urgency, _ place: Place) {
    if place.isRedirect {
      redirects.set(host, place.pace, to: urgency)
    } else {
      startable[place.route].set(host, place.pace, to: urgency)
    }
  }

  mutating func setCoolingDown(_ host: HostID, until moment: Instant) {
    coolingDown.set(host, to: moment)
  }

  mutating func setPaused(_ host: HostID, until moment: Instant) {
    paused.set(host, to: moment)
  }

  /// - Returns: the host to forget at once for it, if too many are remembered.
  mutating func setRemembered(_ host: HostID, until moment: Instant) -> HostID? {
    remembered.set(host, to: moment)
    return remembered.count > Self.rememberedMaximum ? remembered.removeFirst() : nil
  }

  /// Takes a host whose time has come.
  mutating func takeDue(at now: Instant) -> HostID? {
    if let until = coolingDown.first?.priority, until <= now { return coolingDown.removeFirst() }
    if let until = paused.first?.priority, until <= now { return paused.removeFirst() }
    if let until = remembered.first?.priority, until <= now { return remembered.removeFirst() }
    return nil
  }
}
