import ImgModel

/// How long a URL whose transfer has failed waits before it is tried again: exponential backoff
/// with full jitter, which spreads those that failed together over the whole of their wait
/// ("Exponential Backoff And Jitter", AWS Architecture Blog 2015).
package struct Backoff {
  /// The longest that the first retry waits; each further one waits up to twice as long.
  let base: Duration

  package static let longest = Duration.seconds(60)

  init(_ limits: Limits) {
    base = limits.backoff
  }

  /// - Parameter attempts: how often it was tried, at least once.
  func delay(afterAttempts attempts: Int, using random: inout SplitMix64) -> Duration {
    let most = min(base * (1 << min(attempts - 1, 16)), Self.longest)
    return most * Double.random(in: 0...1, using: &random)
  }
}

/// The sources that wait before they are tried again, and until when.
struct RetryQueue {
  private var queue = PriorityQueue<SourceID, Instant>()
  private var byHost: [String: NumberedSet<SourceID>] = [:]

  var first: (key: SourceID, priority: Instant)? { queue.first }

  /// Some of them, the first among them.
  func prefix(_ count: Int) -> [SourceID] { queue.prefix(count) }

  /// Those of a host, in no order.
  func waiting(for host: String) -> [SourceID] { byHost[host].map { Array($0.keys) } ?? [] }

  mutating func set(_ source: SourceID, of host: String, to moment: Instant) {
    queue.set(source, to: moment)
    byHost[host, default: NumberedSet()].insert(source)
  }

  mutating func remove(_ source: SourceID, of host: String) {
    queue.remove(source)
    byHost[host]?.remove(source)
    if byHost[host]?.isEmpty == true { byHost[host] = nil }
  }
}

/// Attempts that do not count.
extension Source {
  /// How often a source is held while the network is only suspected. A host that is silent while others answer is not
  /// asked for ever.
  static let suspectedHoldMaximum = 2
  /// How often an attempt is repeated: more often than the window of ``CongestionWindow`` halves until it is at its
  /// minimum, and as often as opens the circuit breaker where the URL is alone at its host.
  static let repeatMaximum = HostHealth.failureMaximum
  /// The same of attempts that are cut off while their bytes come, and of which nothing is left for the next one: as
  /// often as the window halves with the default number of transfers, and once more.
  static let vainRepeatMaximum = 5

  mutating func takeSuspectedHold(_ suspicion: Int) -> Bool {
    if suspectedHolds.suspicion != suspicion { suspectedHolds = (suspicion, 0) }
    suspectedHolds.count += 1
    return suspectedHolds.count <= Self.suspectedHoldMaximum
  }

  mutating func takeRepeat(isInVain: Bool) -> Bool {
    repeatCount += 1
    if isInVain { vainRepeatCount += 1 }
    return repeatCount <= Self.repeatMaximum && vainRepeatCount <= Self.vainRepeatMaximum
  }
}

extension Failure {
  /// Whether the host is the reason, and neither the URL nor this program: no connection came about, nothing
  /// came in time, or the host says that it cannot answer now. Other errors are about what was requested:
  /// the same host may deliver the next picture.
  var isOfHost: Bool {
    switch code {
    case .dnsFailure, .connectFailure, .tlsFailure, .timeout: true
    case .httpStatus: httpStatus.map(Self.isOfHost(httpStatus:)) ?? false
    default: false
    }
  }

  /// Whether the status says something of the host (429, RFC 6585 section 4; 503, RFC 9110 section
  /// 15.6.4), and not only of what was requested.
  static func isOfHost(httpStatus: Int) -> Bool { httpStatus == 429 || httpStatus == 503 }

  /// The failure of a URL that is not requested because its host is down, after this failure of the host. It
  /// may succeed later, whatever has failed.
  ///
  /// - Parameters:
  ///   - words: what was not done, and why.
  ///   - former: what the URL itself has failed with before.
  func ofURLNotAsked(_ words: String, after former: Failure? = nil) -> Failure {
    // The reason first, because the code is that of the host's failure.
    let reason = "\(words): \(detail)"
    let former = former.flatMap { $0.code == code && $0.httpStatus == httpStatus ? nil : $0 }
    return Failure(
      stage: stage, code: code, httpStatus: httpStatus, isRetryable: true, retryAt: retryAt,
      detail: former.map { "\(reason)\(Self.formerWords)\($0.detail)" } ?? reason)
  }
}

/// What is remembered, see ``RememberedFailures``.
extension Failure {
  /// Whether the origin says that there is no such picture: 404 and 410 (RFC 9110 sections 15.5.5
  /// and 15.5.11).
  var isOfMissingPicture: Bool {
    stage == .fetch && code == .httpStatus && (httpStatus == 404 || httpStatus == 410)
  }

  /// Whether the picture ended its decoders.
  var isOfCrash: Bool { stage == .decode && code == .decodeCrash }

  /// The failure that a later request gets.
  func remembered(since time: WallTime) -> Failure {
    let second = "\(time.description.prefix(19))Z"
    return explained(
      isOfCrash
        ? "\(detail) at \(second), and the picture was not tried again"
        : "\(detail) at \(second)\(Self.rememberedWords)")
  }
}
