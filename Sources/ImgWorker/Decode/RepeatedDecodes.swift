/// The pictures whose first attempt ended with a decoder, until they are tried once more.
///
/// The next attempt is likely to end another decoder, and one takes a while to start. So the others that wait
/// come first, and a spare decoder is ready for them. A picture does not wait for them for ever: after a
/// while, it only waits for the spare.
struct RepeatedDecodes {
  private static let maximumWait = Duration.seconds(5)

  /// With since when each waits, the oldest first. Each has a lease, so there are no more than these.
  private var waiting: [(job: DecodeJob, since: ContinuousClock.Instant)] = []

  var isEmpty: Bool { waiting.isEmpty }

  mutating func append(_ job: DecodeJob, at now: ContinuousClock.Instant) {
    waiting.append((job, now))
  }

  /// Takes the picture whose turn it is; `nil` if none may be tried now.
  ///
  /// - Parameters:
  ///   - isIdle: whether no other picture waits.
  ///   - hasSpare: whether a decoder is left for others, if the next one ends.
  mutating func next(
    isIdle: Bool, at now: ContinuousClock.Instant, hasSpare: () -> Bool
  ) -> DecodeJob? {
    guard let first = waiting.first else { return nil }
    let mayEnd = first.job.cancellation.isSet
    guard mayEnd || ((isIdle || now - first.since >= Self.maximumWait) && hasSpare()) else {
      return nil
    }
    return waiting.removeFirst().job
  }
}
