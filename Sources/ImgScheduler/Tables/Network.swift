package import ImgModel

/// What the end of a transfer shows of the network of this machine.
package enum NetworkEvidence: Hashable {
  /// An origin answered, with anything but a web page in place of a picture.
  case response
  /// A host answered. A network that wants a login first does that, too.
  case answer
  /// The resolver answered, or a host could be connected to or refused that. A network that delivers nothing does
  /// that, too, if a router or a proxy answers in place of the hosts.
  case contact
  /// A web page came in place of a picture.
  case page
  /// The certificate is another host's, or of an unknown issuer, as that of a network that wants a login.
  case foreignCertificate
  /// Nothing answered.
  ///
  /// - isUnrouted: whether this machine has no route to any network, or only one by a proxy that is silent or asks for
  ///   other credentials, or a resolver that answers no question.
  /// - proxyFailure: what the proxy has failed with, which was asked in place of the host.
  case silence(isUnrouted: Bool, proxyFailure: String? = nil)
  /// The host could be connected to, and nothing came from it or from any other host.
  case noData
  /// Nothing is shown.
  case none
}

/// How this machine reaches a host.
package enum NetworkRoute: CaseIterable {
  case direct
  /// Through the proxy. Workers know which hosts that are: one is known here once the proxy has failed for it.
  case proxied
}

/// A value for each route.
package struct ByRoute<Value> {
  private var direct: Value
  private var proxied: Value

  init(_ value: Value) {
    direct = value
    proxied = value
  }

  package subscript(route: NetworkRoute) -> Value {
    _read { if route == .direct { yield direct } else { yield proxied } }
    _modify { if route == .direct { yield &direct } else { yield &proxied } }
  }
}

/// Whether the network of this machine works, by what transfers to many hosts show: one for each route of the
/// whole cluster, as each host has its ``HostHealth``. So a dead proxy does not hold up hosts that are asked without
/// it.
///
///     online ── several hosts silent, no answer meanwhile ──────► offline ── an answer ────► online
///       ├────── several hosts connected to, and not a byte ─────► noData ─── a byte ───────► online
///       └────── pages or foreign certificates of several hosts,
///               no response meanwhile ───────────────────► captive ── a response ───► online
///
/// While the network does not work, one host is tried now and then, and nothing else starts for lists. Failures do
/// not count as attempts. After `Limits.offlineTimeout` the network is taken as it is: failures count until
/// it works.
///
/// A name that does not exist and a connection that is refused are answers: a list of dead names is not held up.
/// Nor is a list of dead hosts: a worker that sees one is silent looks whether another one answers. Whether a host
/// that can be connected to would send something cannot be seen without a request. So where nothing had come for a
/// while before, as from a list of such hosts alone, that is not waited for as long.
package struct NetworkHealth: Equatable {
  package enum OutageKind: Hashable {
    /// No host can be resolved or connected to.
    case offline
    /// Hosts can be connected to, and nothing arrives from any.
    case noData
    /// Hosts answer with the page or the certificate of the network, which wants a login first.
    case captive
  }

  /// An outage that has not ended.
  package struct Outage: Equatable {
    package let kind: OutageKind
    /// What the proxy has failed with that was asked last; `nil` if none was.
    package fileprivate(set) var detail: String?
    /// Whether foreign certificates have shown it, and not pages.
    package let isOfCertificates: Bool
    package let since: Instant
    /// Until when it is waited for.
    fileprivate let end: Instant
    /// When the next host is tried.
    package fileprivate(set) var nextTrial: Instant
    fileprivate var interval: Duration
    /// The transfer that tries a host.
    package fileprivate(set) var trial: TransferID?
  }

  package private(set) var outage: Outage?
  /// The host that was tried last. The next one in the order of their names is tried next.
  package private(set) var lastTried: String?
  /// How long an outage is waited for; zero for not at all.
  private let timeout: Duration
  /// A new number with each trial that failed: by then it was right to suspect the network.
  private(set) var suspicion = 0
  /// The kinds of outages that were waited for long enough.
  private var accepted: Set<OutageKind> = []
  /// Transfers that nothing answered since the last answer.
  private var unanswered = Silences()
  /// Transfers that had connections, and from which nothing came since the last byte from any host.
  private var withoutData = Silences()
  /// When a host has last sent something; `nil` for never.
  private(set) var lastDataAt: Instant?
  /// The groups of hosts that sent pages or foreign certificates since the last response, and when.
  private var pages: [String: Instant] = [:]

  /// So many groups of hosts do not fail together by chance.
  package static let groupCount = 3
  /// Silent transfers that are taken for the beginning of an outage. If it has not shown by then, they count.
  static let suspectedSilenceCount = 20
  /// The same where besides nothing comes from any host.
  private static let withoutDataGroupCount = 2
  /// What came longer ago says nothing of an outage in which hosts can be connected to.
  private static let dataMemory = Duration.seconds(120)
  /// For so long such an outage is waited for if nothing has come within ``dataMemory`` before it.
  private static let unprovenWait = Duration.seconds(600)
  /// The pages of an outage come together.
  package static let pageSpan = Duration.seconds(60)
  private static let shortestInterval = Duration.seconds(2)
  package static let longestInterval = Duration.seconds(30)

  /// Transfers that have failed alike, and the groups of their hosts.
  private struct Silences: Equatable {
    private(set) var groups: Set<String> = []
    private var count = 0

    var isSuspected: Bool { count <= NetworkHealth.suspectedSilenceCount }

    mutating func add(_ group: String) {
      groups.insert(group)
      count += 1
    }
  }

  init(_ limits: Limits) {
    timeout = limits.offlineTimeout
  }

  /// Takes in what a transfer showed.
  ///
  /// - Parameter group: of the host, see `HostGroup`; for what seems to be of a login that of the URL's host.
  /// - Returns: whether its failure is that of the network and not of the URL.
  mutating func note(
    _ evidence: NetworkEvidence, of group: @autoclosure () -> String, at now: Instant
  ) -> Bool {
    switch evidence {
    case .response:
      noteData(at: now)
      pages = [:]
      accepted = []
      outage = nil
    case .answer: noteData(at: now)
    case .contact: noteContact()
    case .page, .foreignCertificate:
      noteData(at: now)
      guard timeout > .zero, !accepted.contains(.captive) else { return false }
      notePage(of: group(), isCertificate: evidence == .foreignCertificate, at: now)
    case .silence(let isUnrouted, let proxyFailure):
      guard timeout > .zero, !accepted.contains(.offline) else { return false }
      return noteSilence(of: group(), isUnrouted: isUnrouted, proxyFailure, at: now)
    case .noData:
      guard timeout > .zero, !accepted.contains(.noData) else { return false }
      return noteNoData(of: group(), at: now)
    case .none: break
    }
    return outage != nil
  }

  private mutating func noteData(at now: Instant) {
    noteContact()
    lastDataAt = now
    withoutData = Silences()
    accepted.remove(.noData)
    end(.noData)
  }

  private mutating func noteContact() {
    unanswered = Silences()
    accepted.remove(.offline)
    end(.offline)
  }

  private mutating func end(_ kind: OutageKind) {
    if outage?.kind == kind { outage = nil }
  }

  private mutating func noteSilence(
    of group: String, isUnrouted: Bool, _ proxyFailure: String?, at now: Instant
  ) -> Bool {
    guard outage == nil else {
      if let proxyFailure, outage?.kind == .offline { outage?.detail = proxyFailure }
      return true
    }
    unanswered.add(group)
    if isUnrouted || unanswered.groups.count >= Self.groupCount {
      begin(.offline, proxyFailure, at: now)
    }
    return outage != nil || unanswered.isSuspected
  }

  /// Whether nothing came from another group of hosts since the last byte from any host.
  func isSilent(besides group: String) -> Bool {
    withoutData.groups.contains { $0 != group }
  }

  private mutating func noteNoData(of group: String, at now: Instant) -> Bool {
    guard outage == nil else { return true }
    withoutData.add(group)
    if withoutData.groups.count >= Self.withoutDataGroupCount { begin(.noData, at: now) }
    return outage != nil || withoutData.isSuspected
  }

  private mutating func notePage(of group: String, isCertificate: Bool, at now: Instant) {
    guard outage == nil else { return }
    pages = pages.filter { now - $0.value <= Self.pageSpan }
    pages[group] = now
    if pages.count >= Self.groupCount { begin(.captive, isOfCertificates: isCertificate, at: now) }
  }

  private mutating func begin(
    _ kind: OutageKind, _ detail: String? = nil, isOfCertificates: Bool = false, at now: Instant
  ) {
    outage = Outage(
      kind: kind, detail: detail, isOfCertificates: isOfCertificates, since: now,
      end: now + longestWait(for: kind, at: now), nextTrial: now + Self.shortestInterval,
      interval: Self.shortestInterval)
  }

  private func longestWait(for kind: OutageKind, at now: Instant) -> Duration {
    let isProven = kind != .noData || lastDataAt.map { now - $0 <= Self.dataMemory } ?? false
    return isProven ? timeout : min(timeout, Self.unprovenWait)
  }

  /// Whether an outage of this kind was waited for long enough.
  func isAccepted(_ kind: OutageKind) -> Bool { accepted.contains(kind) }

  /// Whether no trial has shown that there is an outage: it may be hosts of their own that are silent.
  var isSuspected: Bool { outage.map { $0.interval == Self.shortestInterval } ?? true }

  // MARK: - Trials

  /// Whether a host may be tried now.
  func isTrialDue(at now: Instant) -> Bool {
    outage.map { $0.trial == nil && $0.nextTrial <= now } ?? false
  }

  /// A transfer tries a host.
  mutating func beginTrial(_ transfer: TransferID, of host: String) {
    outage?.trial = transfer
    lastTried = host
  }

  /// The transfer of the trial is over, and the outage is not.
  mutating func endTrial(at now: Instant) {
    guard var ended = outage, ended.trial != nil else { return }
    ended.trial = nil
    suspicion += 1
    ended.interval = min(ended.interval * 2, Self.longestInterval)
    ended.nextTrial = now + ended.interval
    outage = ended
  }

  /// Takes the network as it is, if that was waited for long enough.
  mutating func endWait(at now: Instant) {
    guard let outage, outage.end <= now else { return }
    accepted.insert(outage.kind)
    pages = [:]
    end(outage.kind)
  }

  /// When ``endWait(at:)`` or a trial has something to do; `nil` while only transfers change anything.
  func deadline(after now: Instant) -> Instant? {
    guard let outage else { return nil }
    let trial = outage.trial == nil && outage.nextTrial > now ? outage.nextTrial : nil
    return trial.orLess(outage.end)
  }
}

extension NetworkEvidence {
  /// What a failed transfer shows.
  init(_ failure: Failure, _ sign: NetworkSign?) {
    switch sign {
    case .silent: self = .silence(isUnrouted: false)
    case .unrouted:
      let proxyFailure = failure.code == .proxyFailure ? failure.detail : nil
      self = .silence(isUnrouted: true, proxyFailure: proxyFailure)
    case .page: self = .page
    case .foreignCertificate: self = .foreignCertificate
    case .answered: self = .contact
    case .noData: self = .noData
    case nil: self.init(failure)
    }
  }

  private init(_ failure: Failure) {
    switch failure.code {
    // The page of a network that wants a login (RFC 6585 section 6).
    case .httpStatus where failure.httpStatus == 511: self = .page
    // Also a network that goes breaks pictures off.
    case .timeout, .truncatedBody, .blockedAddress, .proxyFailure, .internal, .dnsFailure,
      .connectFailure:
      self = .none
    case .tlsFailure: self = .answer
    default: self = failure.httpStatus != nil || failure.stage == .decode ? .response : .none
    }
  }
}
