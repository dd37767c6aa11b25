import ImgSystem
import SeededRandom

/// What look-ups of stored keys, one after the other and in random order, cost one process.
struct HitTrial: Codable {
  /// Hits a second, nothing but hits.
  let rate: Double
  /// Hits that were timed one by one, in microseconds, with the time that reading the clock takes.
  let median: Double
  let quantile99: Double

  private static let blockCount = 256
  private static let maximumTimedCount = 500_000

  /// - Parameters:
  ///   - seconds: for how long.
  ///   - keys: of what is stored.
  ///   - hit: looks one up, and throws when it is not there.
  init<Key>(
    seconds: Double, keys: [Key], seed: UInt64, _ hit: (Key) throws -> Void
  ) throws {
    var random = SeededGenerator(seed: seed)
    func next() -> Key { keys[Int(truncatingIfNeeded: random.next() >> 1) % keys.count] }
    // The pages come into the map at first touch; that is not what is measured.
    for key in keys { try hit(key) }

    let half = UInt64(seconds * 5e8)
    var count = 0
    let start = MonotonicClock.nanoseconds()
    repeat {
      for _ in 0..<Self.blockCount { try hit(next()) }
      count += Self.blockCount
    } while MonotonicClock.nanoseconds() - start < half
    rate = Double(count) * 1e9 / Double(MonotonicClock.nanoseconds() - start)

    var times: [Double] = []
    times.reserveCapacity(Self.maximumTimedCount)
    let end = MonotonicClock.nanoseconds() + half
    var last: UInt64
    repeat {
      let key = next()
      let begun = MonotonicClock.nanoseconds()
      try hit(key)
      last = MonotonicClock.nanoseconds()
      times.append(Double(last - begun) / 1_000)
    } while last < end && times.count < Self.maximumTimedCount
    let samples = Samples(times)
    (median, quantile99) = (samples.median, samples.quantile(0.99))
  }

  /// What several processes did at once: their hits together, and the slowest of their latencies.
  init(together trials: [HitTrial]) {
    rate = trials.reduce(0) { $0 + $1.rate }
    median = trials.reduce(0) { max($0, $1.median) }
    quantile99 = trials.reduce(0) { max($0, $1.quantile99) }
  }
}
