package import ImgModel
import ImgWire

/// Asking origins first what their robots.txt permits, for requests that respect it.
extension WorkerMachine {
  /// Takes the step as soon as the rules of the order's origin are known, if they permit it.
  mutating func checkRobots(for order: FetchOrder, then step: RobotsCache.Step) {
    let check = RobotsCache.Check(url: order.url, contact: order.options.contact, step: step)
    if order.options.respectsRobots, !order.url.isLocal {
      decide(check)
    } else {
      proceed(with: check)
    }
  }

  /// Follows a redirect if the robots.txt of its target permits that, for a transfer that respects
  /// it. By then the transfer has a slot at the target, which also serves for that file.
  ///
  /// - Parameter slotWait: for how long it waited for the slot.
  mutating func checkRobots(
    for url: ImageURL, of transfer: TransferID, slotWait: Duration
  ) {
    let check = RobotsCache.Check(
      url: url, contact: transfers[transfer].order.options.contact,
      step: .follow(transfer, slotWait: slotWait))
    if transfers[transfer].checksRobots {
      decide(check)
    } else {
      proceed(with: check)
    }
  }

  /// - Parameter wasAsked: whether the origin has just been asked for its rules, in place of a transfer.
  private mutating func decide(_ check: RobotsCache.Check, wasAsked: Bool = false) {
    switch robots.verdict(of: check.url, at: now.wall) {
    case .permitted(let crawlDelay):
      if let crawlDelay { report.crawlDelays.append(CrawlDelay(of: check.url.host, crawlDelay)) }
      if wasAsked, check.step.isStart { return requeue(check) }
      if case .start(let transfer) = check.step {
        report.robotsKnown.append(transfers[transfer].order.lease)
      }
      proceed(with: check)
    case .refused(let failure): refuse(check, because: failure)
    case .unknown(let isAsked):
      robots.wait(check)
      if !isAsked { effects.append(.readRobots(of: check.url)) }
    }
  }

  // MARK: - The rules arrive

  /// Takes the rules of the store, else asks the origin. That takes the place of a transfer that was about to start,
  /// which the coordinator requeues afterwards: the pace of the host counts both requests.
  mutating func robotsRead(of url: ImageURL, _ known: KnownRobots?) {
    if let known {
      robots.learn(known, of: url.origin, at: now.wall).forEach { decideAfterWait($0) }
    } else {
      let waiting = robots.waiting(for: url.origin)
      if !waiting.contains(where: \.step.isStart) { report.extraRequests.append(url.host) }
      effects.append(.fetchRobots(of: url, contact: waiting.first?.contact))
    }
  }

  mutating func robotsFetched(_ origin: String, _ answer: RobotsAnswer, _ sign: NetworkSign?) {
    switch answer {
    case .rules(let rules):
      arrivals.note(at: now.instant)
      if let host = robots.waiting(for: origin).first?.url.host {
        // What was asked for over TLS was answered by its own host.
        report.robotsFetched.append(
          RobotsFetch(from: host, sign: origin.hasPrefix("https:") ? nil : sign))
      }
      effects.append(
        .storeRobots(robots.receive(rules, of: origin, at: now.wall), origin: origin))
    case .unavailable(let failure, let isDeferred):
      let failure = failure.ofRobots(of: origin)
      let waiting =
        isDeferred
        ? robots.takeWaiting(for: origin) : robots.fail(failure, of: origin, at: now.wall)
      for check in waiting where isStillWanted(check) {
        if isDeferred {
          postpone(check, because: failure)
        } else {
          refuse(check, because: failure, sign: self.sign(of: failure, sign, in: check))
        }
      }
    }
  }

  /// The other workers find the rules in the store: what waited continues.
  ///
  /// Rules that are not stored may be forgotten by the time a requeued transfer comes again. So it starts at once,
  /// and the pace of the host counts the request for the rules, too.
  mutating func robotsStored(_ origin: String, _ isStored: Bool) {
    let waiting = robots.rulesStored(of: origin, at: now.wall)
    if !isStored, let start = waiting.first(where: \.step.isStart) {
      report.extraRequests.append(start.url.host)
    }
    waiting.forEach { decideAfterWait($0, wasAsked: isStored) }
  }

  private mutating func decideAfterWait(_ check: RobotsCache.Check, wasAsked: Bool = false) {
    if isStillWanted(check) { decide(check, wasAsked: wasAsked) }
  }

  /// The store was emptied: what its robots.txt said is forgotten.
  mutating func storeReplaced() { robots.forget() }

  /// Whether the leases of the check have not left while it waited.
  private func isStillWanted(_ check: RobotsCache.Check) -> Bool {
    switch check.step {
    case .start(let transfer), .follow(let transfer, _): transfers.contains(transfer)
    case .attach(let lease): tasks.contains(lease)
    }
  }

  // MARK: - The three ends of a check

  private mutating func proceed(with check: RobotsCache.Check) {
    switch check.step {
    case .start(let transfer):
      effects.append(.startTransfer(transfers[transfer].order))
    case .follow(let transfer, let slotWait):
      effects.append(.followRedirect(transfer, excluding: slotWait))
    case .attach(let lease): attach(lease)
    }
  }

  private mutating func refuse(
    _ check: RobotsCache.Check, because failure: Failure, sign: NetworkSign? = nil
  ) {
    switch check.step {
    case .start(let transfer): fail(transfer, with: failure, sign: sign) { $0.respectsRobots }
    case .follow(let transfer, _):
      effects.append(.cancelTransfer(transfer))
      fail(transfer, with: failure, wasRedirected: true, sign: sign) { $0.respectsRobots }
    case .attach(let lease): finish(lease, with: .failed(failure), sign: sign)
    }
  }

  /// The host is in a cooldown, so that its robots.txt was not asked for: the coordinator requeues
  /// the leases. It does not know where a redirect leads, so that those are retried as after any
  /// failure.
  private mutating func postpone(_ check: RobotsCache.Check, because failure: Failure) {
    if case .follow = check.step { refuse(check, because: failure) } else { requeue(check) }
  }

  /// - Precondition: the check is not for a redirect.
  private mutating func requeue(_ check: RobotsCache.Check) {
    switch check.step {
    case .start(let transfer): transfers.end(transfer).forEach { release($0) }
    case .follow: preconditionFailure("a redirect is not requeued")
    case .attach(let lease): release(lease)
    }
  }
}

extension Failure {
  /// The same failure, as what keeps a picture from being fetched. That of the proxy is not the file's.
  fileprivate func ofRobots(of origin: String) -> Failure {
    guard code != .proxyFailure else { return self }
    return Failure(
      stage: stage, code: code, httpStatus: httpStatus, isRetryable: isRetryable,
      detail: "\(Failure.robotsWords)\(origin) cannot be fetched: \(detail)")
  }
}

/// What this worker knows of origins' robots.txt (RFC 9309), and what waits to know more.
struct RobotsCache {
  /// What is decided by the rules of the URL's origin.
  struct Check {
    let url: ImageURL
    /// Of the request, whose robots.txt it then is, see `FetchOptions.contact`.
    let contact: Contact?
    let step: Step
  }

  /// What is done if the rules permit it.
  enum Step {
    /// Start the transfer.
    case start(TransferID)
    /// Follow a redirect of the transfer.
    ///
    /// - slotWait: for how long it waited for a slot.
    case follow(TransferID, slotWait: Duration)
    /// Attach the lease to a transfer.
    case attach(LeaseID)

    var isStart: Bool {
      if case .start = self { true } else { false }
    }
  }

  enum Verdict {
    /// - crawlDelay: the time between two requests that the origin asks for.
    case permitted(crawlDelay: Duration?)
    case refused(Failure)
    /// The rules are not known.
    ///
    /// - isAsked: whether they were asked for already.
    case unknown(isAsked: Bool)
  }

  private struct Entry {
    let rules: any RobotsRuleSet
    let byteCount: Int
    let isValidUntil: WallTime
  }

  private var entries: [String: Entry] = [:]
  private var checks: [String: [Check]] = [:]
  /// The failures of origins that answered otherwise than with rules, and when.
  private var failures: [String: (failure: Failure, at: WallTime)] = [:]
  /// Rules on their way into the store.
  private var beingStored: [String: KnownRobots] = [:]

  /// What the rules remembered here may take as text, which is a small part of what they take; the
  /// store remembers more.
  static let maximumByteCount = 2 << 20
  /// RFC 9309 section 2.4.
  private static let lifetime = Duration.seconds(24 * 3_600)
  /// For so long, all URLs of an origin and all their attempts share its failure.
  private static let failureLifetime = Duration.seconds(5)
  private static let maximumFailureCount = 1_000

  // MARK: - Asking

  func verdict(of url: ImageURL, at now: WallTime) -> Verdict {
    guard let entry = entries[url.origin], now < entry.isValidUntil else {
      if let (failure, time) = failures[url.origin],
        (.zero..<Self.failureLifetime).contains(time.duration(to: now))
      {
        return .refused(failure)
      }
      return .unknown(isAsked: checks[url.origin] != nil)
    }
    do throws(Failure) {
      return try entry.rules.permits(url)
        ? .permitted(crawlDelay: entry.rules.crawlDelay) : .refused(Self.refusal(of: url))
    } catch {
      // The transfer will say what is wrong with the URL.
      return .permitted(crawlDelay: nil)
    }
  }

  /// The check waits until the rules of its origin are known.
  mutating func wait(_ check: Check) {
    checks[check.url.origin, default: []].append(check)
  }

  /// What waits for the rules of an origin.
  func waiting(for origin: String) -> [Check] { checks[origin] ?? [] }

  // MARK: - Learning

  /// The origin sent its rules. They go into the store first, for the other workers.
  ///
  /// - Returns: the rules with the time for which they hold.
  mutating func receive(
    _ rules: any RobotsRuleSet, of origin: String, at now: WallTime
  ) -> KnownRobots {
    let known = KnownRobots(rules, expiresAt: now.advanced(by: Self.lifetime))
    beingStored[origin] = known
    return known
  }

  /// The store has the rules that the origin sent, or cannot have them.
  ///
  /// - Returns: what waited for them.
  mutating func rulesStored(of origin: String, at now: WallTime) -> [Check] {
    beingStored.removeValue(forKey: origin).map { learn($0, of: origin, at: now) } ?? []
  }

  /// - Returns: what waited for the rules.
  mutating func learn(_ known: KnownRobots, of origin: String, at now: WallTime) -> [Check] {
    let byteCount = known.rules.text.utf8.count
    let total = entries.values.reduce(byteCount) { $0 + $1.byteCount }
    if total > Self.maximumByteCount { entries = [:] }
    entries[origin] = Entry(
      rules: known.rules, byteCount: byteCount, isValidUntil: known.expiresAt)
    return takeWaiting(for: origin)
  }

  /// The origin was asked for its rules and they are not available.
  ///
  /// - Returns: what waited for them.
  mutating func fail(_ failure: Failure, of origin: String, at now: WallTime) -> [Check] {
    // Others say that the host or the proxy failed, and not that it has answered.
    if failure.code == .httpStatus {
      if failures.count >= Self.maximumFailureCount { failures = [:] }
      failures[origin] = (failure, now)
    }
    return takeWaiting(for: origin)
  }

  /// The rules are not known yet.
  ///
  /// - Returns: what waited for them.
  mutating func takeWaiting(for origin: String) -> [Check] {
    checks.removeValue(forKey: origin) ?? []
  }

  /// Forgets all rules. What waits for some goes on waiting.
  mutating func forget() {
    entries = [:]
    failures = [:]
  }

  /// What a URL fails with that the rules close.
  private static func refusal(of url: ImageURL) -> Failure {
    Failure(
      stage: .fetch, code: .optedOut,
      detail: "\(Failure.robotsWords)\(url.origin) does not allow it")
  }
}

/// What an origin's robots.txt permits, as the parser that fetches the URLs reads them.
package protocol RobotsRuleSet: Sendable {
  /// The rules, as they are remembered. Their size stands for the memory that they take.
  var text: String { get }
  /// The time between two requests that the origin asks for.
  var crawlDelay: Duration? { get }

  /// - Throws: a ``Failure`` if that parser refuses the URL.
  func permits(_ url: ImageURL) throws(Failure) -> Bool
}

/// The rules of an origin and how long they hold.
package struct KnownRobots: Sendable {
  package let rules: any RobotsRuleSet
  package let expiresAt: WallTime

  package init(_ rules: any RobotsRuleSet, expiresAt: WallTime) {
    self.rules = rules
    self.expiresAt = expiresAt
  }
}

/// What came of the request for a robots.txt.
package enum RobotsAnswer: Sendable {
  /// The rules; those that permit everything if the origin has no such file.
  case rules(any RobotsRuleSet)
  /// The file is not available, which closes the origin for now (RFC 9309 section 2.3.1.4).
  ///
  /// - isDeferred: whether nothing was sent, because the host is in a cooldown.
  case unavailable(Failure, isDeferred: Bool)
}
