import ImgModel

/// Pictures that are missing, as their origins have said, and pictures that ended their decoders: for a time
/// neither is tried again. Failures that may pass are never remembered.
package struct RememberedFailures {
  /// What has failed.
  struct Subject: Hashable {
    let name: PictureName
    /// What the picture was decoded to; empty for the picture itself, whatever it is to become.
    var variants: [Variant] = []

    func hash(into hasher: inout Hasher) {
      hasher.combine(name.text)
      hasher.combine(variants.first)
    }
  }

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
  private var memories: [Subject: Memory] = [:]
  /// Their subjects by their numbers.
  private var byAge = PriorityQueue<Subject, UInt64>()
  /// The number of the newest there ever was.
  private(set) var lastNumber: UInt64 = 0

  init(_ limits: Limits) {
    time = limits.rememberFailures
  }

  package var count: Int { memories.count }

  /// What is remembered of a picture; `nil` also when that is too old.
  func memory(of subject: Subject, at now: ContinuousClock.Instant) -> Memory? {
    memories[subject].flatMap { now - $0.since < time ? $0 : nil }
  }

  /// - Returns: whether it is remembered.
  mutating func remember(
    _ failure: Failure, of subject: Subject, at now: ContinuousClock.Instant
  ) -> Bool {
    guard failure.isOfMissingPicture || failure.isOfCrash, time > .zero else { return false }
    lastNumber += 1
    memories[subject] = Memory(failure: failure, since: now, number: lastNumber)
    byAge.set(subject, to: lastNumber)
    if count > Self.maximumCount, let oldest = byAge.removeFirst() { memories[oldest] = nil }
    return true
  }

  mutating func forget(_ subject: Subject) {
    guard memories.removeValue(forKey: subject) != nil else { return }
    byAge.remove(subject)
  }

  /// Forgets the pictures of these URLs, whatever they were asked for with, and in all their versions.
  mutating func forget(urls: Set<String>) {
    memories.keys
      .filter { subject in
        let text = subject.name.text
        return urls.contains(text) || urls.contains(String(PictureName.url(ofText: text)))
      }
      .forEach { forget($0) }
  }
}

extension Failure {
  /// Whether the origin says that there is no such picture: 404 and 410 (RFC 9110 sections 15.5.5
  /// and 15.5.11).
  fileprivate var isOfMissingPicture: Bool {
    stage == .fetch && code == .httpStatus && (httpStatus == 404 || httpStatus == 410)
  }

  /// Whether the picture ended its decoders.
  var isOfCrash: Bool { stage == .decode && code == .decodeCrash }

  /// The failure that a later request gets.
  func remembered(for age: Duration) -> Failure {
    let seconds = age.components.seconds
    return explained(
      isOfCrash
        ? "\(detail) \(seconds) s ago, and the picture was not tried again"
        : "\(detail) \(seconds) s ago, and was not asked again")
  }
}
