package import ImgStore
import SeededRandom

/// A store as simply as it can be told: a dictionary.
package struct ReferenceStore: Sendable {
  private struct Entry {
    var picture: Picture
    /// Whether the store may have dropped it to keep within its budget.
    var mayBeMissing = false
  }

  private var entries: [Int: Entry] = [:]
  /// Whether the budget is so small that a put may evict whatever is not of its group.
  private let isEvicting: Bool

  package init(isEvicting: Bool) {
    self.isEvicting = isEvicting
  }

  package mutating func apply(_ step: StoreStep) {
    switch step.action {
    case .put(let pictures): put(pictures, at: step.now)
    case .remove(let numbers): for number in numbers { entries[number] = nil }
    case .removeStale(let number):
      if let entry = entries[number], entry.picture.expiresAt <= step.now { entries[number] = nil }
    case .clean: entries = entries.filter { $0.value.picture.expiresAt > step.now }
    case .reset: entries = [:]
    case .look, .reopen, .contents: break
    }
  }

  private mutating func put(_ pictures: [Picture], at now: Int) {
    if isEvicting { loosen { _ in true } }
    for picture in pictures {
      var expiresAt = picture.expiresAt
      if let old = entries[picture.number]?.picture, old.expiresAt > now {
        expiresAt = max(expiresAt, old.expiresAt)
      }
      entries[picture.number] = Entry(picture: picture.expiring(at: expiresAt))
    }
  }

  /// Allows that another process has removed pictures.
  package mutating func loosen(where isLoose: (Picture) -> Bool) {
    for (number, entry) in entries where isLoose(entry.picture) {
      entries[number]?.mayBeMissing = true
    }
  }

  /// In what a look-up of `numbers` differs from what it should have found, in words.
  package func differences(
    fromFound found: [Picture], among numbers: [Int], at now: Int
  ) -> [String] {
    let fresh = entries.filter { number, entry in
      numbers.contains(number) && entry.picture.expiresAt > now
    }
    return Self.differences(of: fresh, from: found)
  }

  /// In what all that a store has differs from all that it should have, in words.
  package func differences(fromContents contents: some Sequence<Picture>) -> [String] {
    Self.differences(of: entries, from: contents)
  }

  private static func differences(
    of entries: [Int: Entry], from found: some Sequence<Picture>
  ) -> [String] {
    var missing = entries
    var differences: [String] = []
    for picture in found {
      let expected = missing.removeValue(forKey: picture.number)?.picture
      if picture != expected {
        differences.append("\(picture) in place of \(expected.map { "\($0)" } ?? "nothing")")
      }
    }
    differences += missing.values.filter { !$0.mayBeMissing }.map { "missing: \($0.picture)" }
    return differences
  }

  /// Forgets what was allowed to be missing and is: it does not come back.
  package mutating func adopt(_ contents: some Sequence<Picture>) {
    let present = Set(contents.map(\.number))
    entries = entries.filter { !$0.value.mayBeMissing || present.contains($0.key) }
  }

  package var count: Int { entries.count }
}

/// Something done to a store at a moment of its clock, as a value: a plan consists of them, a child
/// process is told them, a model is asked what they come to.
package struct StoreStep: Codable, Sendable {
  package enum Action: Codable, Sendable {
    case put([Picture])
    case look([Int])
    case remove([Int])
    case removeStale(Int)
    case clean
    case reset
    /// Closes the store and opens it again.
    case reopen
    /// All that there is, expired or not.
    case contents
  }

  package let action: Action
  package let now: Int

  package init(_ action: Action, at now: Int) {
    self.action = action
    self.now = now
  }
}

/// What a step found.
package struct StepAnswer: Codable, Sendable {
  package var found: [Picture] = []
  package var defects: [String] = []
  package var occupiedByteCount: Int64 = 0

  package init() {}
}

/// A store that takes steps.
package struct SteppedStore {
  private let directory: String
  private let budgetByteCount: Int64
  private var store: PictureStore?

  package init(directory: String, budgetByteCount: Int64) throws(StoreError) {
    self.directory = directory
    self.budgetByteCount = budgetByteCount
    store = try PictureStore(directory: directory, budgetByteCount: budgetByteCount)
  }

  package mutating func take(_ step: StoreStep) throws -> StepAnswer {
    let store = try opened()
    var answer = StepAnswer()
    switch step.action {
    case .put(let pictures): try store.put(pictures, at: step.now)
    case .look(let numbers):
      answer.found = try numbers.compactMap { try store.picture($0, at: step.now) }
    case .remove(let numbers): try store.remove(numbers)
    case .removeStale(let number): try store.removeStale(number, at: step.now)
    case .clean: try store.clean(at: step.now)
    case .reset: try store.reset()
    case .reopen: self.store = nil
    case .contents:
      answer.found = Array(try store.contents().values)
      answer.defects = try store.defects()
      answer.occupiedByteCount = try store.occupiedByteCount()
    }
    return answer
  }

  /// The store; opened again when it was closed, after nothing holds the former one any more: a
  /// process opens an environment once at a time.
  package mutating func opened() throws(StoreError) -> PictureStore {
    if let store { return store }
    let opened = try PictureStore(directory: directory, budgetByteCount: budgetByteCount)
    store = opened
    return opened
  }
}

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

/// A command for a child process, one line of JSON each; see `imgcrashtest serve`.
package enum ChildCommand: Codable, Sendable {
  case step(StoreStep)
  /// Holds a reader's snapshot with this picture. The child replies when it has started, and again
  /// after the next line, which ends it.
  case hold(Int)
}

/// The reply of a child process.
package enum ChildReply: Codable, Sendable {
  case done(StepAnswer)
  /// The reason of a failure, as a sentence.
  case failed(String)
}
