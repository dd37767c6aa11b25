import ImgFetch
import ImgModel
import ImgStore

/// What this worker knows of origins' robots.txt (RFC 9309), and who waits to know more. It decides
/// and does nothing itself.
struct RobotsBook {
  /// What somebody does who waits.
  enum Step {
    /// Begins the transfer that is named by the lease.
    case fetch
    /// Follows a redirect of this transfer, maybe to another host, where it waited for a slot for so
    /// long.
    case follow(LeaseID, leavesHost: Bool, slotWait: Duration)
    /// Rides on another's.
    case attach
  }

  struct Waiting {
    let fetch: Fetch
    /// What is to be fetched: the lease's own URL, or where that has led.
    let url: ImageURL
    let step: Step
  }

  enum Verdict {
    case permitted
    case refused(Failure)
    /// Nobody knows; the origin is to be asked, unless somebody waits for that already.
    case unknown(isAsked: Bool)
  }

  /// What the answer for a robots.txt means.
  enum Answer {
    /// To be remembered.
    case rules(RobotsRecord, origin: String)
    /// It cannot be had now, so that nothing may be fetched: those who waited fail with that.
    case trouble(Failure, [Waiting])
  }

  private struct Known {
    let rules: RobotsRules
    let byteCount: Int
    let isValidUntil: WallTime
  }

  private var known: [String: Known] = [:]
  private var waiting: [String: [Waiting]] = [:]
  /// The origins that are being asked, by the numbers of the transfers.
  private var asked: [UInt64: String] = [:]
  /// What was learned and is on its way into the store.
  private var learned: [String: RobotsRecord] = [:]

  /// Transfers of robots.txt have numbers that no lease has.
  private static let firstTransfer = UInt64(1) << 63
  private var lastTransfer = Self.firstTransfer

  /// What the rules remembered here may take as text, which is a small part of what they take; the
  /// store remembers more.
  private static let maximumByteCount = 2 << 20
  /// How long they are, before the store is looked into again: somebody may have reset it.
  private static let memoryMilliseconds: Int64 = 60_000
  /// RFC 9309 section 2.4.
  private static let lifetimeMilliseconds: Int64 = 24 * 3_600_000

  // MARK: - Asking

  func verdict(of url: ImageURL, at now: WallTime) -> Verdict {
    guard let known = known[url.origin], now < known.isValidUntil else {
      return .unknown(isAsked: waiting[url.origin] != nil)
    }
    do throws(Failure) {
      return try known.rules.permits(url) ? .permitted : .refused(Self.refusal(of: url))
    } catch {
      // The transfer will say what is wrong with the URL.
      return .permitted
    }
  }

  mutating func wait(_ waiting: Waiting) {
    self.waiting[waiting.url.origin, default: []].append(waiting)
  }

  /// The origin is asked from now on.
  ///
  /// - Returns: the number of the transfer.
  mutating func ask(_ origin: String) -> UInt64 {
    lastTransfer += 1
    asked[lastTransfer] = origin
    return lastTransfer
  }

  // MARK: - Learning

  /// An answer has come in.
  ///
  /// - Returns: `nil` when the transfer is of a picture.
  mutating func receive(_ transfer: FinishedTransfer, at now: WallTime) -> Answer? {
    guard let origin = asked.removeValue(forKey: transfer.id) else { return nil }
    switch Self.rules(in: transfer.result) {
    case .success(let rules):
      let record = RobotsRecord(
        text: rules.text, expiresAt: now.advanced(byMilliseconds: Self.lifetimeMilliseconds))
      learned[origin] = record
      return .rules(record, origin: origin)
    case .failure(let failure):
      return .trouble(
        failure.ofRobots(of: origin), waiting.removeValue(forKey: origin) ?? [])
    }
  }

  /// What was learned has come into the store, for the other workers.
  ///
  /// - Returns: who waited for it.
  mutating func settle(_ origin: String, at now: WallTime) -> [Waiting] {
    learned.removeValue(forKey: origin).map { learn($0, of: origin, at: now) } ?? []
  }

  /// - Returns: who waited for it.
  mutating func learn(_ record: RobotsRecord, of origin: String, at now: WallTime) -> [Waiting] {
    let byteCount = record.text.utf8.count
    let total = known.values.reduce(byteCount) { $0 + $1.byteCount }
    if total > Self.maximumByteCount { known = [:] }
    known[origin] = Known(
      rules: RobotsRules(remembered: record.text), byteCount: byteCount,
      isValidUntil: min(record.expiresAt, now.advanced(byMilliseconds: Self.memoryMilliseconds)))
    return waiting.removeValue(forKey: origin) ?? []
  }

  /// What a file says, and what it means when there is none (RFC 9309 section 2.3.1): an origin that
  /// has none allows everything, one that does not answer as it should allows nothing for now.
  private static func rules(
    in result: Result<FetchedBody, Failure>
  ) -> Result<RobotsRules, Failure> {
    switch result {
    case .success(let body):
      // So short a body is in memory.
      .success(RobotsRules(parsing: (try? body.content.bytes()) ?? []))
    case .failure(let failure) where failure.meansNoRobots: .success(.none)
    case .failure(let failure): .failure(failure)
    }
  }

  /// What a URL fails with that the rules close.
  private static func refusal(of url: ImageURL) -> Failure {
    Failure(
      stage: .fetch, code: .optedOut,
      detail: "the robots.txt of \(url.origin) does not allow it")
  }
}

extension Failure {
  /// Whether the origin has no such file, rather than none that can be had now.
  fileprivate var meansNoRobots: Bool {
    code == .tooManyRedirects
      || (code == .httpStatus && !isRetryable && (200..<500).contains(httpStatus ?? 0))
  }

  /// The same failure, as what keeps a picture from being fetched.
  fileprivate func ofRobots(of origin: String) -> Failure {
    Failure(
      stage: stage, code: code, httpStatus: httpStatus, isRetryable: isRetryable,
      detail: "the robots.txt of \(origin) cannot be had, which closes all of it: \(detail)")
  }
}
