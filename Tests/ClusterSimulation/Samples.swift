import ImgWire

extension Thumbnail {
  static let sample = Thumbnail(format: .jpeg, width: 256, height: 192, byteCount: 1_000)
}

extension Outcome {
  static let fetchedSample = Outcome.done(.sample, fromCache: false, bytesFetched: 50_000)
  static let cachedSample = Outcome.done(.sample, fromCache: true, bytesFetched: 0)
  /// For whom the bytes were not fetched, but who waited for them.
  static let sharedSample = Outcome.done(.sample, fromCache: false, bytesFetched: 0)

  static func failure(_ code: Failure.Code, stage: Failure.Stage = .fetch) -> Outcome {
    .failed(Failure(stage: stage, code: code, detail: ""))
  }

  var failureCode: Failure.Code? {
    if case .failed(let failure) = self { failure.code } else { nil }
  }
}

/// The URL of a picture with this number at this host.
func url(_ number: Int, host: String = "example.com") -> String {
  "http://\(host)/\(number)"
}

/// URLs that are all at different hosts.
func spreadURLs(_ numbers: some Sequence<Int>) -> [String] {
  numbers.map { url($0, host: "host\($0)") }
}

/// A random source that gives the same numbers for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
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
