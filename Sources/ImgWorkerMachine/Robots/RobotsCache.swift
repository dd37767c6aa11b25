import ImgModel

/// What this worker knows of origins' robots.txt (RFC 9309), and what waits to know more.
struct RobotsCache {
  /// What is decided by the rules of the URL's origin.
  struct Check {
    let url: ImageURL
    let step: Step
  }

  /// What is done if the rules permit it.
  enum Step {
    /// Start the transfer.
    case start(TransferID)
    /// Follow a redirect of the transfer.
    ///
    /// - slotWait: for how long it waited for a slot.
    case follow(TransferID, leavesHost: Bool, slotWait: Duration)
    /// Attach the lease to a transfer.
    case attach(LeaseID)
  }

  enum Verdict {
    case permitted
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
  private var waiting: [String: [Check]] = [:]
  /// Rules on their way into the store.
  private var beingStored: [String: KnownRobots] = [:]

  /// What the rules remembered here may take as text, which is a small part of what they take; the
  /// store remembers more.
  static let maximumByteCount = 2 << 20
  /// After this long the store is read again: its user may have reset it.
  static let memoryTime = Duration.seconds(60)
  /// RFC 9309 section 2.4.
  private static let lifetime = Duration.seconds(24 * 3_600)

  // MARK: - Asking

  func verdict(of url: ImageURL, at now: WallTime) -> Verdict {
    guard let entry = entries[url.origin], now < entry.isValidUntil else {
      return .unknown(isAsked: waiting[url.origin] != nil)
    }
    do throws(Failure) {
      return try entry.rules.permits(url) ? .permitted : .refused(Self.refusal(of: url))
    } catch {
      // The transfer will say what is wrong with the URL.
      return .permitted
    }
  }

  /// The check waits until the rules of its origin are known.
  mutating func wait(_ check: Check) {
    waiting[check.url.origin, default: []].append(check)
  }

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
      rules: known.rules, byteCount: byteCount,
      isValidUntil: min(known.expiresAt, now.advanced(by: Self.memoryTime)))
    return takeWaiting(for: origin)
  }

  /// The rules are not available.
  ///
  /// - Returns: what waited for them.
  mutating func takeWaiting(for origin: String) -> [Check] {
    waiting.removeValue(forKey: origin) ?? []
  }

  /// What a URL fails with that the rules close.
  private static func refusal(of url: ImageURL) -> Failure {
    Failure(
      stage: .fetch, code: .optedOut,
      detail: "the robots.txt of \(url.origin) does not allow it")
  }
}
