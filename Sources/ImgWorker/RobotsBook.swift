import ImgFetch
import ImgStore
import ImgWire

/// What this worker knows of origins' robots.txt (RFC 9309), and who waits to know more. It decides
/// and does nothing itself.
struct RobotsBook {
  /// What somebody does who waits.
  enum Step {
    /// Begins the transfer that is named by the lease.
    case fetch
    /// Rides on another's.
    case ride
  }

  struct Waiting {
    let fetch: Fetch
    let step: Step
  }

  enum Verdict {
    case permitted
    case refused(Failure)
    /// Nobody knows; the origin is to be asked, unless somebody waits for that already.
    case unknown(isAsked: Bool)
  }

  private struct Known {
    let rules: RobotsRules
    let record: RobotsRecord
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

  /// Origins remembered here; the store remembers more.
  private static let maximumCount = 256
  /// RFC 9309 section 2.4.
  private static let lifetimeMilliseconds: Int64 = 24 * 3_600_000
  /// Of what may soon be otherwise.
  private static let troubleLifetimeMilliseconds: Int64 = 60_000

  // MARK: - Asking

  func verdict(of url: ImageURL, at now: WallTime) -> Verdict {
    guard let known = known[url.origin], !known.record.isExpired(at: now) else {
      return .unknown(isAsked: waiting[url.origin] != nil)
    }
    do throws(Failure) {
      return try known.rules.permits(url) ? .permitted : .refused(known.record.failure(of: url))
    } catch {
      // The transfer will say what is wrong with the URL.
      return .permitted
    }
  }

  mutating func wait(_ waiting: Waiting) {
    self.waiting[waiting.fetch.url.origin, default: []].append(waiting)
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
  /// - Returns: whose it is, and what is to be remembered of it; `nil` when the transfer is of a
  ///   picture.
  mutating func receive(
    _ transfer: FinishedTransfer, at now: WallTime
  ) -> (origin: String, record: RobotsRecord)? {
    guard let origin = asked.removeValue(forKey: transfer.id) else { return nil }
    let record = Self.record(of: transfer.result, at: now)
    learned[origin] = record
    return (origin, record)
  }

  /// What was learned has come into the store, for the other workers.
  ///
  /// - Returns: who waited for it.
  mutating func settle(_ origin: String) -> [Waiting] {
    learned.removeValue(forKey: origin).map { learn($0, of: origin) } ?? []
  }

  /// - Returns: who waited for it.
  mutating func learn(_ record: RobotsRecord, of origin: String) -> [Waiting] {
    if known.count >= Self.maximumCount { known = [:] }
    known[origin] = Known(rules: RobotsRules(parsing: Array(record.text.utf8)), record: record)
    return waiting.removeValue(forKey: origin) ?? []
  }

  /// What a file says, and what it means when there is none (RFC 9309 section 2.3.1): an origin that
  /// has none allows everything, one that does not answer as it should allows nothing.
  private static func record(
    of result: Result<FetchedBody, Failure>, at now: WallTime
  ) -> RobotsRecord {
    let expiresAt = now.advanced(byMilliseconds: lifetimeMilliseconds)
    switch result {
    case .success(let body):
      // So short a body is in memory.
      let bytes = (try? body.content.bytes()) ?? []
      return RobotsRecord(
        text: RobotsRules(parsing: bytes).text, trouble: nil, expiresAt: expiresAt)
    case .failure(let failure) where failure.meansNoRobots:
      return RobotsRecord(text: RobotsRules.none.text, trouble: nil, expiresAt: expiresAt)
    case .failure(let failure):
      return RobotsRecord(
        text: "User-agent: *\nDisallow: /\n", trouble: failure.description,
        expiresAt: now.advanced(byMilliseconds: troubleLifetimeMilliseconds))
    }
  }
}

extension RobotsRecord {
  /// What a URL fails with that it closes. What could not be had may be had later.
  fileprivate func failure(of url: ImageURL) -> Failure {
    let file = "the robots.txt of \(url.origin)"
    return Failure(
      stage: .fetch, code: .optedOut, isRetryable: trouble != nil,
      detail: trouble.map { "\(file) cannot be had, which closes all of it: \($0)" }
        ?? "\(file) does not allow it")
  }
}

extension Failure {
  /// Whether the origin has no such file, rather than none that can be had now.
  fileprivate var meansNoRobots: Bool {
    code == .tooManyRedirects || (code == .httpStatus && (200..<500).contains(httpStatus ?? 0))
  }
}
