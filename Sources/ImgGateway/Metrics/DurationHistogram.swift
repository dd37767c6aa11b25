import Synchronization

/// How long answers took, in buckets.
final class DurationHistogram: Sendable {
  /// The upper bounds of the buckets in seconds: from a hit to the limit of a load.
  private static let bounds = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  ]

  private struct State {
    var counts = [UInt64](repeating: 0, count: DurationHistogram.bounds.count + 1)
    var sum = Duration.zero
  }

  private let state = Mutex(State())

  func record(_ duration: Duration) {
    let seconds = duration / .seconds(1)
    let bucket = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
    state.withLock { state in
      state.counts[bucket] += 1
      state.sum += duration
    }
  }

  /// Adds the buckets, the sum and the count of the metric `name`, which was begun.
  func add(as name: String, labels route: String, to text: inout MetricsText) {
    let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
    var total: UInt64 = 0
    for (bound, count) in zip(Self.bounds + [.infinity], counts) {
      total += count
      let bound = bound == .infinity ? "+Inf" : String(bound)
      text.add("\(name)_bucket", ["route": route, "le": bound], Double(total))
    }
    text.add("\(name)_sum", ["route": route], sum / .seconds(1))
    text.add("\(name)_count", ["route": route], Double(total))
  }
}
