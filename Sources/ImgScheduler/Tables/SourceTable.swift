package import ImgModel

/// Pictures that are missing, as their origins have said, and pictures that ended their decoders: for a time
/// neither is tried again. Failures that may pass are never remembered.
package struct RememberedFailures {
  /// What has failed.
  struct Subject: QueueKey {
    typealias Positions = [Subject: Int]

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
    let since: Instant
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
  func memory(of subject: Subject, at now: Instant) -> Memory? {
    memories[subject].flatMap { now - $0.since < time ? $0 : nil }
  }

  /// - Returns: whether it is remembered.
  mutating func remember(_ failure: Failure, of subject: Subject, at now: Instant) -> Bool {
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

/// Names a source: the number of the first of its items.
package typealias SourceID = Identifier<IdentifierKind.Source>

/// A picture, or its facts, that has to be fetched: what its variants share, so that it is fetched once for all of
/// them. Lives as long as one of its items.
package struct Source {
  /// One name may stand for URLs at several hosts, each with its own limits.
  package struct Key: Hashable {
    package let name: PictureName
    package let host: String
    /// Each has its own pauses.
    package let origin: String
    package private(set) var part: PicturePart

    /// The keys of the same picture at the same host, whole or in part; this one among them.
    var ofAllParts: [Key] {
      PicturePart.allCases.map { part in
        var key = self
        key.part = part
        return key
      }
    }

    /// Hashes what differs between most keys.
    package func hash(into hasher: inout Hasher) {
      hasher.combine(name.text)
      hasher.combine(part)
    }

    init(_ item: WorkItem) {
      name = item.key.name
      host = item.host
      origin = item.url.origin
      part = item.key.request.keep.part
    }
  }

  package let id: SourceID
  package let key: Key
  /// Its items, in the order in which they came.
  package internal(set) var members: [WorkID]
  /// Whether it waits for a transfer of its own.
  var isQueued = false
  /// The transfer that items may still join: its body is on its way, or held by its worker.
  package internal(set) var joinable: TransferID?
  /// Transfers of it that failed.
  var attempts = 0
  /// What the last of them failed with.
  var lastFailure: Failure?
  /// How often it was held because the network was suspected, and when: see ``NetworkHealth/suspicion``.
  var suspectedHolds = (suspicion: 0, count: 0)
  /// How often an attempt was repeated because the line is slow, or because its host may be restarting.
  var repeatCount = 0
  /// The same of those that are cut off in vain, see ``vainRepeatMaximum``.
  var vainRepeatCount = 0
  /// When the first of them failed.
  var firstFailedAt: Instant?
  /// When it may be queued again; `nil` when it may be now.
  package internal(set) var retryAt: Instant?
  /// Workers that held this fetch and crashed, or were ended because they owed its answer or hung in
  /// its transfer.
  var lossCount = 0
  /// Workers that ended, for any reason, while they held this fetch.
  var deathCount = 0

  init(id: SourceID, key: Key, of item: WorkID) {
    self.id = id
    self.key = key
    members = [item]
  }
}

/// The sources of the items that have to be fetched: who shares them, when they are tried again,
/// and what is remembered of those that failed.
package struct SourceTable {
  private var sources = NumberedTable<SourceID, Source>()
  private var ids: [Source.Key: SourceID] = [:]
  private var backoffs = RetryQueue()
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
  package func id(for key: Source.Key) -> SourceID? { ids[key] }

  /// Whether there is a transfer that items of the source may join.
  func hasJoinable(_ id: SourceID) -> Bool { sources.read(id) { $0.joinable != nil } ?? false }

  // MARK: - Items

  /// Makes an item share the source of its picture, which the first one begins, unless it does so already.
  ///
  /// - Precondition: the item has not ended.
  @discardableResult
  mutating func join(_ id: WorkID, in work: inout WorkTable) -> SourceID {
    let item = work.item(id)
    if let source = item.source { return source }
    let key = Source.Key(item)
    let source: SourceID
    if let shared = ids[key] {
      source = shared
      change(source) { $0.members.append(id) }
    } else {
      source = SourceID(rawValue: id.rawValue)
      ids[key] = source
      sources.set(source, to: Source(id: source, key: key, of: id))
    }
    work.change(id) { $0.source = source }
    return source
  }

  /// An item has ended. The last one ends the source.
  ///
  /// - Precondition: the item shares the source.
  /// - Returns: the source when this has ended it.
  mutating func remove(_ item: WorkID, from id: SourceID) -> Source? {
    let isLast = change(id) { source in
      guard let index = source.members.firstIndex(of: item) else {
        preconditionFailure("\(item) does not share \(id)")
      }
      source.members.remove(at: index)
      return source.members.isEmpty
    }
    guard isLast, let source = sources.remove(id) else {
      changed.append(id)
      return nil
    }
    backoffs.remove(id, of: source.key.host)
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
    guard sources.read(id, { $0.joinable == transfer }) == true else { return }
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
  /// - Parameter attempts: that the requests permit, if that is fewer than the cluster does; `nil` for the cluster's.
  /// - Precondition: the source has not ended.
  /// - Returns: whether there is another attempt, within the URL's time.
  mutating func scheduleRetry(
    of id: SourceID, after failure: Failure, upTo attempts: Int?, at now: Instant
  ) -> Bool {
    let attemptMaximum = min(attempts ?? attemptMaximum, attemptMaximum)
    var random = jitter
    defer { jitter = random }
    noteChangeIfQueued(id)
    return change(id) { [backoff, timeout] source in
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

  /// Whether the source may be held once more because the network is suspected.
  ///
  /// - Precondition: the source has not ended.
  mutating func takeSuspectedHold(of id: SourceID, suspicion: Int) -> Bool {
    change(id) { $0.takeSuspectedHold(suspicion) }
  }

  /// Whether an attempt of the source may be repeated once more for a reason that is not the URL's.
  ///
  /// - Precondition: the source has not ended.
  mutating func takeRepeat(of id: SourceID, isInVain: Bool = false) -> Bool {
    change(id) { $0.takeRepeat(isInVain: isInVain) }
  }

  /// A transfer of the source has failed because of the network: it is tried again, however often, when that works.
  /// The time of its attempts begins again.
  ///
  /// - Precondition: the source has not ended.
  mutating func hold(_ id: SourceID, because failure: Failure, at now: Instant) {
    var random = jitter
    defer { jitter = random }
    noteChangeIfQueued(id)
    change(id) { [backoff] source in
      source.lastFailure = failure
      source.firstFailedAt = nil
      source.retryAt = now + backoff.delay(afterAttempts: 1, using: &random)
    }
  }

  /// A transfer of the source has failed that was the probe of its host, for which the line was too slow, or whose host
  /// may be restarting. That was no attempt of the source.
  ///
  /// - Precondition: the source has not ended.
  mutating func repeatAttempt(of id: SourceID, because failure: Failure, at now: Instant) {
    var random = jitter
    defer { jitter = random }
    noteChangeIfQueued(id)
    change(id) { [backoff] source in
      source.lastFailure = failure
      source.retryAt = now + backoff.delay(afterAttempts: 1, using: &random)
    }
  }

  /// A worker has ended that was fetching the source: it waits before its origin is asked again,
  /// not after the first death, which may have any reason, and longer after each further one.
  ///
  /// - Precondition: the source has not ended.
  mutating func noteDeath(of id: SourceID, at now: Instant) {
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
    if sources.read(id, { $0.isQueued }) == true { changed.append(id) }
  }

  /// Whether the source has a retry that is not due yet. A retry can become due while no item of
  /// the source waits for a transfer. Such a retry is removed.
  ///
  /// - Precondition: the source has not ended.
  mutating func mustWait(_ id: SourceID, at now: Instant) -> Bool {
    change(id) { source in
      if let retryAt = source.retryAt, retryAt <= now { source.retryAt = nil }
      return source.retryAt != nil
    }
  }

  /// The source waits for its retry.
  ///
  /// - Precondition: it has one.
  mutating func awaitRetry(_ id: SourceID) {
    guard let source = sources[id], let retryAt = source.retryAt else {
      preconditionFailure("\(id) has no retry")
    }
    backoffs.set(id, of: source.key.host, to: retryAt)
  }

  /// When the next source is tried again; `nil` while none waits for that.
  package var nextRetry: Instant? { backoffs.first?.priority }

  /// Takes a source that has waited long enough.
  mutating func takeDueRetry(at now: Instant) -> SourceID? {
    guard let (id, until) = backoffs.first, until <= now else { return nil }
    let host = change(id) { source in
      source.retryAt = nil
      return source.key.host
    }
    backoffs.remove(id, of: host)
    return id
  }

  /// Some of the sources that wait for their retries, the next one among them.
  func waitingForRetry(_ count: Int) -> [Source] {
    backoffs.prefix(count).compactMap { sources[$0] }
  }

  /// The sources at a host that wait for their retries, in no order.
  func waitingForRetry(at host: String) -> [SourceID] { backoffs.waiting(for: host) }

  // MARK: - Remembered failures

  /// - Returns: whether the failure is remembered.
  mutating func remember(
    _ failure: Failure, of subject: RememberedFailures.Subject, at now: Instant
  ) -> Bool {
    failures.remember(failure, of: subject, at: now)
  }

  /// What is remembered of a picture; `nil` also when that is too old.
  func memory(
    of subject: @autoclosure () -> RememberedFailures.Subject, at now: Instant
  ) -> RememberedFailures.Memory? {
    failures.count > 0 ? failures.memory(of: subject(), at: now) : nil
  }

  /// The number of the newest failure that was ever remembered.
  var lastFailureNumber: UInt64 { failures.lastNumber }

  mutating func forgetFailure(of subject: @autoclosure () -> RememberedFailures.Subject) {
    if failures.count > 0 { failures.forget(subject()) }
  }

  /// Forgets the failure of a source's picture.
  mutating func forgetFailure(of id: SourceID) {
    if let name = sources.read(id, { $0.key.name }) { forgetFailure(of: .init(name: name)) }
  }

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
  private mutating func change<Result>(_ id: SourceID, _ body: (inout Source) -> Result) -> Result {
    sources.change(id, body)
  }
}

/// How many pictures of a group of hosts (see `HostGroup`) may end decoders for viewers. Each costs two decoders,
/// whose replacements are slow to start, so that a client who names one such picture after the other would have all
/// others wait.
///
/// Lines of jobs neither spend it nor need it: a decoder takes the pictures of viewers first, and a line that is
/// refused would be missing from its job.
package struct CrashBudget {
  static let period = Duration.seconds(60)
  /// Pictures of a group within the period.
  package static let maximumCount = 8
  /// Groups that are remembered; beyond it the one that was spent first goes.
  package static let maximumGroupCount = 1_024

  /// Of each group, the latest of its crashes; the oldest first.
  private var crashes: [String: [Instant]] = [:]
  /// When the group's last crash was.
  private var byAge = PriorityQueue<String, Instant>()

  package var groupCount: Int { crashes.count }

  mutating func note(_ host: String, at now: Instant) {
    let group = HostGroup.name(of: host)
    crashes[group] = Array(((crashes[group] ?? []) + [now]).suffix(Self.maximumCount))
    byAge.set(group, to: now)
    if groupCount > Self.maximumGroupCount, let oldest = byAge.removeFirst() {
      crashes[oldest] = nil
    }
  }

  /// When the host may have another picture decoded; `nil` when it may now.
  func spentUntil(_ host: String, at now: Instant) -> Instant? {
    guard !crashes.isEmpty, let latest = crashes[HostGroup.name(of: host)],
      latest.count >= Self.maximumCount
    else {
      return nil
    }
    let end = latest[0] + Self.period
    return end > now ? end : nil
  }
}
