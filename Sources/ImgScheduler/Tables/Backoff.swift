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
