package import ImgModel
import ImgWire

/// What waits for one origin of a host, and the pause that the origin has asked for. Another port or scheme
/// is another service, which has asked for nothing.
struct OriginQueue {
  let origin: String
  /// The sources that wait for a transfer of their own.
  var waiting = RatedQueue<SourceID>()
  /// Transfers that redirects lead here. They have begun, so they go before those that have not.
  var redirected = RatedQueue<TransferID>()
  private(set) var pause: RetryAfter?

  init(_ origin: String) {
    self.origin = origin
  }

  var isEmpty: Bool { waiting.isEmpty && redirected.isEmpty }

  /// A shorter pause does not replace a longer one.
  mutating func coolDown(_ newPause: RetryAfter) {
    if pause.map({ $0.until < newPause.until }) ?? true { pause = newPause }
  }

  /// The pause; `nil` if there is none, or it is over.
  func pause(at now: Instant) -> RetryAfter? {
    pause.flatMap { $0.until > now ? $0 : nil }
  }

  /// The most urgent source that may start, as far as the pause and the paces of requests are concerned; `nil` when none
  /// may.
  func mostUrgentSource(at now: Instant, _ tokens: OwnTokens) -> Urgency? {
    waiting.first { mayStart($0, at: now, tokens) }?.urgency
  }

  /// The same of the transfers that were redirected here.
  func mostUrgentRedirected(at now: Instant, _ tokens: OwnTokens) -> Urgency? {
    redirected.first { mayStart($0, at: now, tokens) }?.urgency
  }

  mutating func startSource(at now: Instant, _ tokens: OwnTokens) -> Started<SourceID>? {
    waiting.first { mayStart($0, at: now, tokens) }.map { waiting.take($0) }
  }

  mutating func startRedirected(at now: Instant, _ tokens: OwnTokens) -> Started<TransferID>? {
    redirected.first { mayStart($0, at: now, tokens) }.map { redirected.take($0) }
  }

  /// When the pause is over for the most urgent that waits because of it; `nil` where nothing does.
  func pauseEnd(at now: Instant) -> Instant? {
    guard pause(at: now) != nil else { return nil }
    return mostUrgent.map { attempt(of: $0, at: now) }.filter { $0 > now }.min()
  }

  /// When the first gets a token of its own pace, of those that wait for nothing else; `nil` where none does.
  func nextOwnToken(at now: Instant, _ tokens: OwnTokens) -> OwnTokens.Next? {
    mostUrgent.filter { attempt(of: $0, at: now) == now }
      .compactMap { tokens.next(for: $0.pace) }.filter { $0.at > now }.min()
  }

  /// The most urgent of each pace.
  private var mostUrgent: [Urgency] { waiting.mostUrgent + redirected.mostUrgent }

  private func mayStart(_ urgency: Urgency, at now: Instant, _ tokens: OwnTokens) -> Bool {
    attempt(of: urgency, at: now) == now
      && tokens.next(for: urgency.pace).map { $0.at <= now } ?? true
  }

  private func attempt(of urgency: Urgency, at now: Instant) -> Instant {
    max(now, pause?.until(for: urgency) ?? now)
  }
}

/// What is taken from a queue.
typealias Started<Key> = (key: Key, urgency: Urgency)

/// What waits, in order, with a queue for each pace that requests have of their own: what has no token of its pace keeps
/// nothing else waiting. Mostly one queue alone.
struct RatedQueue<Key: QueueKey> {
  private var queues: [(pace: OwnPace, queue: PriorityQueue<Key, Urgency>)] = []

  var isEmpty: Bool { queues.isEmpty }
  var count: Int { queues.reduce(0) { $0 + $1.queue.count } }
  /// In no order.
  var keys: [Key] { queues.flatMap(\.queue.keys) }
  /// Of each pace, in no order.
  var mostUrgent: [Urgency] { queues.compactMap(\.queue.first?.priority) }

  /// The most urgent, of the first ones of each pace that fit.
  func first(where isFit: (Urgency) -> Bool) -> Started<Key>? {
    var first: Started<Key>?
    for (_, queue) in queues {
      guard let (key, urgency) = queue.first, isFit(urgency) else { continue }
      if first.map({ urgency < $0.urgency }) ?? true { first = (key, urgency) }
    }
    return first
  }

  /// Queues a key, or changes the urgency of one that is queued.
  mutating func set(_ key: Key, to urgency: Urgency) {
    if queues.contains(where: { $0.pace != urgency.pace }) { remove(key) }
    if let index = queues.firstIndex(where: { $0.pace == urgency.pace }) {
      queues[index].queue.set(key, to: urgency)
    } else {
      var queue = PriorityQueue<Key, Urgency>()
      queue.set(key, to: urgency)
      queues.append((urgency.pace, queue))
    }
  }

  /// Its host has answered: see ``Host/queueUrgency(_:of:)``.
  mutating func forgetFailures() {
    for index in queues.indices {
      for (key, urgency) in queues[index].queue.all where urgency != urgency.afterFailures(0) {
        queues[index].queue.set(key, to: urgency.afterFailures(0))
      }
    }
  }

  mutating func remove(_ key: Key) {
    for index in queues.indices { queues[index].queue.remove(key) }
    queues.removeAll { $0.queue.isEmpty }
  }

  /// Removes what waits.
  mutating func take(_ waiting: Started<Key>) -> Started<Key> {
    remove(waiting.key)
    return waiting
  }
}

/// A host that has failed again and again, so that its circuit breaker is open, see ``HostHealth``.
package struct Outage: Equatable {
  /// When the host is asked again.
  package let until: Instant
  /// The last failure of the host.
  let failure: Failure
}

/// The pause that an origin has asked for (RFC 9110 section 10.2.3).
package struct RetryAfter: Equatable {
  /// When the origin permits the next request.
  package let until: Instant
  /// When a viewer's request goes out before the pause is over: a person should not be kept from a picture for minutes
  /// because another one asked for it.
  package let untilForViewers: Instant
  /// The status of the response that asked for it.
  let httpStatus: Int

  init(_ cooldown: HostCooldown, at now: Instant) {
    until = now + cooldown.duration
    untilForViewers = now + min(cooldown.duration, HostCooldown.maximumForViewers)
    httpStatus = cooldown.httpStatus
  }

  package func until(for urgency: Urgency) -> Instant {
    urgency.viewer > 0 ? untilForViewers : until
  }

  /// See `Failure.isOfHost(httpStatus:)`.
  var isOfHost: Bool { Failure.isOfHost(httpStatus: httpStatus) }
}

/// How often transfers from one host may begin.
package struct TransferRate: Equatable {
  /// The time in which one token comes.
  package let interval: Duration
  /// Tokens that gather when nothing begins.
  package let burst: Int

  /// - Parameter perMinute: at least 1; what comes in a second may come at once.
  package init(perMinute: Int) {
    self.init(perMinute: perMinute, burst: max(1, perMinute / 60))
  }

  /// One at a time.
  init(between interval: Duration) {
    self.interval = interval
    burst = 1
  }

  /// - Parameters:
  ///   - perMinute: at least 1.
  ///   - burst: how many may come at once, at least 1.
  package init(perMinute: Int, burst: Int) {
    interval = .seconds(60) / perMinute
    self.burst = burst
  }
}

/// Tokens of one host, of which each transfer takes one: the generic cell rate algorithm, which
/// holds a bucket's whole state in one moment (ITU-T Recommendation I.371, annex A).
package struct TokenBucket {
  /// When all tokens will have come again.
  private(set) var fullAt: Instant?

  package init() {}

  /// Without tokens since a moment; with all if that is `nil`.
  init(emptyAt moment: Instant?, rate: TransferRate) {
    if let moment { empty(at: moment, rate: rate) }
  }

  /// When there is a token.
  package func nextToken(at rate: TransferRate) -> Instant? {
    fullAt.map { $0 - rate.interval * (rate.burst - 1) }
  }

  /// From now on tokens come at another rate. Those that are there stay, and no others appear.
  mutating func change(from old: TransferRate, to new: TransferRate, at now: Instant) {
    guard let full = fullAt, full > now else { return }
    let available = Double(old.burst) - (full - now) / old.interval
    fullAt = now + new.interval * max(0, Double(new.burst) - available)
  }

  package mutating func take(at now: Instant, rate: TransferRate) {
    fullAt = max(fullAt ?? now, now) + rate.interval
  }

  /// What there is of tokens is lost: the next one comes after its time.
  mutating func empty(at now: Instant, rate: TransferRate) {
    fullAt = max(fullAt ?? now, now + rate.interval * rate.burst)
  }

  /// Takes a token without having asked whether there is one. Where there is none, those that come
  /// are owed, as many as may come at once and no more, so that the debt of a host is bounded.
  mutating func takeUnasked(at now: Instant, rate: TransferRate) {
    take(at: now, rate: rate)
    fullAt = fullAt.map { min($0, now + rate.interval * (2 * rate.burst)) }
  }
}

/// What limits the starts of some requests at a host, beside the rate of the cluster.
package struct OwnPace: Hashable {
  /// How often their job permits transfers to start at one host; 0 for no limit.
  var perMinute = 0
  /// Whether they wait for the time between requests that a robots.txt asks for.
  var respectsRobots = false

  var rate: TransferRate? { perMinute > 0 ? TransferRate(perMinute: perMinute) : nil }
}

/// The tokens of one host for the requests that have a pace of their own: one bucket for each rate of a job, and one
/// for the time between requests that the robots.txt of its origins ask for. Only transfers at that pace take tokens
/// from it, so a slow job delays no viewer and no other job.
package struct OwnTokens {
  /// When a token comes.
  package struct Next: Comparable {
    package let at: Instant
    /// Whether robots.txt decides, and not the rate of the job.
    package let isOfRobots: Bool

    package static func < (left: Self, right: Self) -> Bool { left.at < right.at }
  }

  /// By transfers per minute.
  private var buckets: [Int: TokenBucket] = [:]
  private var robotsBucket = TokenBucket()
  /// The longest time between requests that a robots.txt asks for.
  package private(set) var crawlDelay: Duration?
  /// When the program began that goes on with jobs; `nil` if it does not.
  private let restartedAt: Instant?

  init(restartedAt: Instant? = nil) {
    self.restartedAt = restartedAt
  }

  private var robotsRate: TransferRate? { crawlDelay.map(TransferRate.init(between:)) }

  /// When there is a token; `nil` if nothing delays it.
  package func next(for pace: OwnPace) -> Next? {
    let ofJob = pace.rate.flatMap { rate in
      bucket(of: pace.perMinute).nextToken(at: rate).map { Next(at: $0, isOfRobots: false) }
    }
    let ofRobots = robotsRate.flatMap { rate in
      pace.respectsRobots
        ? robotsBucket.nextToken(at: rate).map { Next(at: $0, isOfRobots: true) } : nil
    }
    return [ofJob, ofRobots].compactMap(\.self).max()
  }

  private func bucket(of perMinute: Int) -> TokenBucket {
    buckets[perMinute]
      ?? TokenBucket(emptyAt: restartedAt, rate: TransferRate(perMinute: perMinute))
  }

  /// When all tokens will have come again; `nil` if they have.
  var fullAt: Instant? {
    (buckets.values.compactMap(\.fullAt) + [robotsBucket.fullAt].compactMap(\.self)).max()
  }

  mutating func take(for pace: OwnPace, at now: Instant) {
    buckets = buckets.filter { $0.value.fullAt.map { $0 > now } ?? false }
    if let rate = pace.rate {
      var bucket = bucket(of: pace.perMinute)
      bucket.take(at: now, rate: rate)
      buckets[pace.perMinute] = bucket
    }
    if pace.respectsRobots, let robotsRate { robotsBucket.take(at: now, rate: robotsRate) }
  }

  /// A robots.txt asks for a time between requests. The first begins now.
  mutating func noteCrawlDelay(_ delay: Duration, at now: Instant) {
    guard delay > crawlDelay ?? .zero else { return }
    crawlDelay = delay
    robotsBucket.empty(at: now, rate: TransferRate(between: delay))
  }

  /// A request that did not ask takes the token of robots.txt, if there is one. It may not be one that obeys, and no
  /// number of those may keep the others waiting.
  mutating func takeUnasked(at now: Instant) {
    guard let robotsRate, robotsBucket.nextToken(at: robotsRate).map({ $0 <= now }) ?? true else {
      return
    }
    robotsBucket.take(at: now, rate: robotsRate)
  }
}

extension TransferQueue {
  /// When there is a token at the rate of the cluster; `nil` for no rate.
  func token(of host: borrowing Host) -> Instant? { rate.flatMap(host.bucket.nextToken) }

  /// The robots.txt of a host, which was requested or is about to be obeyed, asks for a time between requests.
  mutating func noteCrawlDelay(_ delay: CrawlDelay, at now: Instant) {
    changeKnown(delay.host, at: now) { $0.noteCrawlDelay(delay.delay, at: now) }
  }
}

/// What the transfers of a host have shown of its pace.
enum HostPace: Int, CaseIterable {
  /// The last one was soon over.
  case responsive
  /// Nothing, or that the last one took its time.
  case unproven
  /// One of its group is slow right now.
  case slow
}

/// Why a host is not asked for viewers for a while.
enum Cooldown {
  case pause(RetryAfter)
  case outage(Outage)

  var until: Instant {
    switch self {
    case .pause(let pause): pause.untilForViewers
    case .outage(let outage): outage.until
    }
  }

  /// Whether the host cannot be connected to: no viewer waits for it, however patient.
  var isWithoutConnection: Bool {
    guard case .outage(let outage) = self else { return false }
    return outage.failure.code == .connectFailure || outage.failure.code == .dnsFailure
  }
}

/// What people are told of hosts: which fail, which are given up, and which of them answer again. A list may have thousands of
/// dead hosts, so there are some dozens of lines at once, and one in two seconds after them.
struct HostNews {
  private static let rate = TransferRate(perMinute: 30, burst: 60)
  /// So many hosts are remembered. A host that is forgotten may be told again.
  private static let hostMaximum = 4_096

  /// The hosts that fail.
  private var failing: Set<String> = []
  /// The hosts that are given up.
  private var hosts: Set<String> = []
  private var lines: [String] = []
  private var omittedCount = 0
  private var bucket = TokenBucket()

  /// The circuit breaker of a host has opened. It is told once until the host answers.
  mutating func noteFailing(_ host: String, because failure: Failure, at now: Instant) {
    if failing.count >= Self.hostMaximum { failing = [] }
    guard failing.insert(host).inserted else { return }
    let count = HostHealth.failureMaximum
    tell("\(host) failed \(count) times in a row (\(failure)); it is asked less often", at: now)
  }

  /// A host is down, see ``HostHealth``. It is told once until the host answers.
  ///
  /// - Parameter urlCount: the URLs that wait for it.
  mutating func noteGivenUp(
    _ host: String, because failure: Failure, urlCount: Int, at now: Instant
  ) {
    if hosts.count >= Self.hostMaximum { hosts = [] }
    guard hosts.insert(host).inserted else { return }
    let reason = "\(host) \(Failure.notAskedWords) (\(failure))"
    tell("\(reason); URLs that waited for it: \(urlCount)", at: now)
  }

  /// A host has answered.
  mutating func noteAnswer(of host: String, at now: Instant) {
    guard !failing.isEmpty || !hosts.isEmpty else { return }
    let isTold = [failing.remove(host), hosts.remove(host)].contains { $0 != nil }
    if isTold { tell("\(host) answers again", at: now) }
  }

  private mutating func tell(_ line: String, at now: Instant) {
    if let next = bucket.nextToken(at: Self.rate), next > now {
      omittedCount += 1
      return
    }
    bucket.take(at: now, rate: Self.rate)
    let omission =
      omittedCount == 0 ? "" : "; lines on hosts before this one, not shown: \(omittedCount)"
    omittedCount = 0
    lines.append(line + omission)
  }

  /// The lines since the last call.
  mutating func take() -> [String] {
    defer { lines = [] }
    return lines
  }
}
