import ImgModel

/// How long a URL whose transfer has failed waits before it is tried again: exponential backoff
/// with full jitter, which spreads those that failed together over the whole of their wait
/// ("Exponential Backoff And Jitter", AWS Architecture Blog 2015).
struct Backoff {
  /// The longest that the first retry waits; each further one waits up to twice as long.
  let base: Duration

  static let longest = Duration.seconds(60)

  init(_ limits: Limits) {
    base = .milliseconds(limits.backoffMilliseconds)
  }

  /// - Parameter attempts: how often it was tried, at least once.
  func delay(afterAttempts attempts: Int, using random: inout Jitter) -> Duration {
    let most = min(base * (1 << min(attempts - 1, 16)), Self.longest)
    return most * Double.random(in: 0...1, using: &random)
  }
}

/// Random enough for delays, and the same again for the same seed: SplitMix64 (Steele, Lea and
/// Flood 2014).
struct Jitter: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
