import SeededRandom

/// An endless sequence of steps that a seed replays.
package struct StorePlan: Sendable {
  /// What a plan may contain.
  package enum Kind: String, Sendable {
    /// Puts, removals and cleanings, each one transaction. The clock of all but the cleanings
    /// stands still, so that plans of several writers agree on what has expired.
    case writing
    /// Every step there is, while the clock goes on.
    case everything
    /// The same for a store that evicts. When a picture expires depends on its number alone, as it
    /// does in a plan of writing: whether the later of two expiries stays would depend on whether
    /// the former picture was evicted.
    case evicting
  }

  private var random: SeededGenerator
  private let kind: Kind
  private let numbers: Range<Int>
  private let mostByteCount: Int
  private var now = 0
  private var generation: Int

  /// When what ``Kind/writing`` puts for a short time expires, and when it cleans.
  package static let shortExpiry = 5
  package static let cleaningTime = 10

  /// - Parameters:
  ///   - numbers: those of the pictures; plans of writers at the same time share none.
  ///   - firstGeneration: above those of earlier plans for the same store.
  package init(
    _ kind: Kind, seed: UInt64, numbers: Range<Int>, mostByteCount: Int = 12_000,
    firstGeneration: Int = 0
  ) {
    self.kind = kind
    self.numbers = numbers
    self.mostByteCount = mostByteCount
    random = SeededGenerator(seed: seed)
    generation = firstGeneration
  }

  package mutating func next() -> StoreStep {
    kind == .writing ? nextWrite() : nextOfEverything()
  }

  private mutating func nextWrite() -> StoreStep {
    switch random.next() % 16 {
    case 0..<11: StoreStep(.put(group()), at: 0)
    case 11..<15: StoreStep(.remove(some(upTo: 8)), at: 0)
    default: StoreStep(.clean, at: Self.cleaningTime)
    }
  }

  private mutating func nextOfEverything() -> StoreStep {
    now += Int(random.next() % 3)
    let action: StoreStep.Action =
      switch random.next() % 64 {
      case 0..<28: .put(group())
      case 28..<46: .look(Set(some(upTo: 12)).sorted())
      case 46..<51: .remove(some(upTo: 4))
      case 51..<56: .removeStale(some(upTo: 1)[0])
      case 56..<60: .clean
      case 60..<63: .reopen
      default: .reset
      }
    return StoreStep(action, at: now)
  }

  /// Pictures of different numbers, few and small more often than many and large.
  private mutating func group() -> [Picture] {
    Set(some(upTo: 6)).sorted().map { number in
      generation += 1
      let most = random.next() % 8 == 0 ? mostByteCount : mostByteCount / 4
      return Picture(
        number: number, generation: generation,
        byteCount: Int.random(in: Picture.minimumByteCount...most, using: &random),
        expiresAt: expiry(of: number))
    }
  }

  private mutating func expiry(of number: Int) -> Int {
    switch kind {
    case .writing: number % 4 == 0 ? Self.shortExpiry : Picture.never
    case .evicting: number % 3 == 0 ? 3 * number : Picture.never
    case .everything:
      random.next() % 3 == 0 ? now + Int(random.next() % 20) : Picture.never
    }
  }

  private mutating func some(upTo mostCount: Int) -> [Int] {
    (0..<Int.random(in: 1...mostCount, using: &random)).map { _ in
      Int.random(in: numbers, using: &random)
    }
  }
}
