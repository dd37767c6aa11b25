import ImgModel

/// The sources of the items that have to be fetched: who shares them, when they are tried again,
/// and what is remembered of those that failed.
package struct SourceTable {
  private var sources: [SourceID: Source] = [:]
  private var ids: [Source.Key: SourceID] = [:]
  /// The sources that wait before they are tried again, and until when.
  private var backoffs = PriorityQueue<SourceID, ContinuousClock.Instant>()
  /// The sources whose items or transfers have changed.
  private var changed = TurnQueue<SourceID>()
  private let backoff: Backoff
  private let attemptMaximum: Int
  private let timeout: Duration
  private var jitter: SplitMix64
  package private(set) var failures: RememberedFailures

  /// - Parameter seed: of the jitter of retries.
  init(_ limits: Limits, seed: UInt64) {
    backoff = Backoff(limits)
    attemptMaximum = limits.attempts
    timeout = limits.urlTimeout
    jitter = SplitMix64(seed: seed)
    failures = RememberedFailures(limits)
  }

  package var isEmpty: Bool { sources.isEmpty }
  package var all: [Source] { Array(sources.values) }

  /// - Returns: `nil` when the source has ended.
  package subscript(id: SourceID) -> Source? { sources[id] }

  /// The source of a picture; `nil` when no item needs it.
  package func source(for key: Source.Key) -> Source? { ids[key].flatMap { sources[$0] } }

  // MARK: - Items

  /// Makes an item share the source of its picture, which the first one begins.
  mutating func add(_ item: WorkItem) -> SourceID {
    let key = Source.Key(item)
    let id = ids[key] ?? SourceID(rawValue: item.id.rawValue)
    ids[key] = id
    sources[id, default: Source(id: id, key: key)].members.append(item.id)
    return id
  }

  /// An item has ended. The last one ends the source.
  ///
  /// - Precondition: the item shares the source.
  /// - Returns: the source when this has ended it.
  mutating func remove(_ item: WorkID, from id: SourceID) -> Source? {
    let source = change(id) { source in
      guard let index = source.members.firstIndex(of: item) else {
        preconditionFailure("\(item) does not share \(id)")
      }
      source.members.remove(at: index)
      return source
    }
    guard source.members.isEmpty else {
      changed.append(id)
      return nil
    }
    backoffs.remove(id)
    sources[id] = nil
    ids[source.key] = nil
    return source
  }

  // MARK: - Changes to look at

  /// The source has to be looked at again.
  mutating func noteChange(of id: SourceID) { changed.append(id) }

  /// Takes the source that has waited longest to be looked at.
  mutating func takeChanged() -> Source? {
    while let id = changed.removeFirst() {
      if let source = sources[id] { return source }
    }
    return nil
  }

  // MARK: - Transfers

  /// A transfer of the source begins, which its other items may join.
  ///
  /// - Precondition: the source has not ended.
  mutating func begin(_ transfer: TransferID, of id: SourceID) {
    change(id) { source in
      source.joinable = transfer
      source.isQueued = false
    }
  }

  /// No item joins the transfer from now on; those that wait get one of their own.
  mutating func endJoining(_ transfer: TransferID, of id: SourceID) {
    guard sources[id]?.joinable == transfer else { return }
    change(id) { $0.joinable = nil }
    changed.append(id)
  }

  /// Whether the source waits for a transfer of its own.
  ///
  /// - Precondition: the source has not ended.
  mutating func setQueued(_ isQueued: Bool, _ id: SourceID) {
    change(id) { $0.isQueued = isQueued }
  }

  // MARK: - Retries

  /// A transfer of the source has failed in a way that may pass.
  ///
  /// - Precondition: the source has not ended.
  /// - Returns: whether there is another attempt, within the URL's time.
  mutating func scheduleRetry(
    of id: SourceID, after failure: Failure, at now: ContinuousClock.Instant
  ) -> Bool {
    var random = jitter
    defer { jitter = random }
    noteChangeIfQueued(id)
    return change(id) { [backoff, attemptMaximum, timeout] source in
      source.attempts += 1
      source.lastFailure = failure
      let began = source.firstFailedAt ?? now
      source.firstFailedAt = began
      let delay = backoff.delay(afterAttempts: source.attempts, using: &random)
      let isRetried = source.attempts < attemptMaximum && now + delay < began + timeout
      source.retryAt = isRetried ? now + delay : nil
      return isRetried
    }
  }

  /// A worker has ended that was fetching the source: it waits before its origin is asked again,
  /// not after the first death, which may have any reason, and longer after each further one.
  ///
  /// - Precondition: the source has not ended.
  mutating func noteDeath(of id: SourceID, at now: ContinuousClock.Instant) {
    var random = jitter
    defer { jitter = random }
    noteChangeIfQueued(id)
    change(id) { [backoff] source in
      source.deathCount += 1
      guard source.deathCount > 1 else { return }
      let delay = backoff.delay(afterAttempts: source.deathCount - 1, using: &random)
      source.retryAt = max(source.retryAt ?? now, now + delay)
    }
  }

  /// A source may be queued for a transfer of its own while an older one of it fails: then it has to
  /// wait for the retry, too.
  private mutating func noteChangeIfQueued(_ id: SourceID) {
    if sources[id]?.isQueued == true { changed.append(id) }
  }

  /// Whether the source has a retry that is not due yet. A retry can become due while no item of
  /// the source waits for a transfer. Such a retry is removed.
  ///
  /// - Precondition: the source has not ended.
  mutating func mustWait(_ id: SourceID, at now: ContinuousClock.Instant) -> Bool {
    change(id) { source in
      if let retryAt = source.retryAt, retryAt <= now { source.retryAt = nil }
      return source.retryAt != nil
    }
  }

  /// The source waits for its retry.
  ///
  /// - Precondition: it has one.
  mutating func awaitRetry(_ id: SourceID) {
    guard let retryAt = sources[id]?.retryAt else { preconditionFailure("\(id) has no retry") }
    backoffs.set(id, to: retryAt)
  }

  /// When the next source is tried again; `nil` while none waits for that.
  package var nextRetry: ContinuousClock.Instant? { backoffs.first?.priority }

  /// Takes a source that has waited long enough.
  mutating func takeDueRetry(at now: ContinuousClock.Instant) -> SourceID? {
    guard let (id, until) = backoffs.first, until <= now else { return nil }
    backoffs.remove(id)
    change(id) { $0.retryAt = nil }
    return id
  }

  /// Some of the sources that wait for their retries, the next one among them.
  func waitingForRetry(_ count: Int) -> [Source] {
    backoffs.prefix(count).compactMap { sources[$0] }
  }

  // MARK: - Remembered failures

  /// - Returns: whether the failure is remembered.
  mutating func remember(
    _ failure: Failure, of subject: RememberedFailures.Subject, at now: ContinuousClock.Instant
  ) -> Bool {
    failures.remember(failure, of: subject, at: now)
  }

  /// What is remembered of a picture; `nil` also when that is too old.
  func memory(
    of subject: RememberedFailures.Subject, at now: ContinuousClock.Instant
  ) -> RememberedFailures.Memory? {
    failures.memory(of: subject, at: now)
  }

  /// The number of the newest failure that was ever remembered.
  var lastFailureNumber: UInt64 { failures.lastNumber }

  mutating func forgetFailure(of subject: RememberedFailures.Subject) { failures.forget(subject) }

  /// Forgets the failures of these URLs, whatever they were asked for with.
  mutating func forgetFailures(of urls: Set<String>) { failures.forget(urls: urls) }

  // MARK: - Attribution

  /// A worker has ended, maybe over a fetch of the source.
  ///
  /// - Precondition: the source has not ended.
  mutating func noteLoss(of id: SourceID) {
    change(id) { $0.lossCount += 1 }
  }

  @discardableResult
  private mutating func change<Result>(
    _ id: SourceID, _ body: (inout Source) -> Result
  ) -> Result {
    guard let index = sources.index(forKey: id) else { preconditionFailure("\(id) has ended") }
    return body(&sources.values[index])
  }
}
