import ImgModel

/// Pictures that are missing, as their origins have said: for a time their origins are not asked
/// again. Failures that may pass are never remembered.
package struct RememberedFailures {
  struct Memory {
    let failure: Failure
    let since: ContinuousClock.Instant
    /// Later ones have higher numbers.
    let number: UInt64
  }

  /// What a long list of dead links may cost in memory; beyond it the oldest go first.
  package static let maximumCount = 16_384

  /// How long one is remembered; zero for never.
  let time: Duration
  private var memories: [PictureName: Memory] = [:]
  /// Their names by their numbers.
  private var byAge = PriorityQueue<PictureName, UInt64>()
  /// The number of the newest there ever was.
  private(set) var lastNumber: UInt64 = 0

  init(_ limits: Limits) {
    time = limits.rememberFailures
  }

  package var count: Int { memories.count }

  /// What is remembered of a picture; `nil` also when that is too old.
  func memory(of name: PictureName, at now: ContinuousClock.Instant) -> Memory? {
    memories[name].flatMap { now - $0.since < time ? $0 : nil }
  }

  /// - Returns: whether it is remembered.
  mutating func remember(
    _ failure: Failure, of name: PictureName, at now: ContinuousClock.Instant
  ) -> Bool {
    guard failure.isOfMissingPicture, time > .zero else { return false }
    lastNumber += 1
    memories[name] = Memory(failure: failure, since: now, number: lastNumber)
    byAge.set(name, to: lastNumber)
    if count > Self.maximumCount, let oldest = byAge.removeFirst() { memories[oldest] = nil }
    return true
  }

  mutating func forget(_ name: PictureName) {
    memories[name] = nil
    byAge.remove(name)
  }

  /// Forgets the pictures of these URLs, whatever they were asked for with.
  mutating func forget(urls: Set<String>) {
    memories.keys.filter { urls.contains($0.text) }.forEach { forget($0) }
  }
}

extension Failure {
  /// Whether the origin says that there is no such picture: 404 and 410 (RFC 9110 sections 15.5.5
  /// and 15.5.11).
  fileprivate var isOfMissingPicture: Bool {
    stage == .fetch && code == .httpStatus && (httpStatus == 404 || httpStatus == 410)
  }

  /// The failure that a later request gets.
  func remembered(for age: Duration) -> Failure {
    explained("\(detail) \(age.components.seconds) s ago, and was not asked again")
  }
}
