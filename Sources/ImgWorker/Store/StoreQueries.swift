import ImgFetch
import ImgModel
import ImgStore
import ImgWire
import ImgWorkerMachine
import Synchronization

/// Reads that are followed by a write.
extension StoreDriver {
  /// - Returns: the answer; none if the store thread answers, once what was found is kept for as long
  ///   as the look-up asks.
  func lookUp(_ batch: Batch) -> [WorkerMachine.Event] {
    let found = queries.lookUp(batch, at: .now)
    for key in found.staleKeys { write(.removeStale(key)) }
    if !found.pinnedHits.isEmpty {
      write(.pin(found.pinnedHits, answer: .lookup(found.results)))
      return []
    }
    // Nothing waits for what records ask for by themselves.
    if !found.accesses.isEmpty, batch.retention != Retention() {
      write(.extend(found.accesses, answer: found.results))
      return []
    }
    extend(found.accesses)
    return [.lookedUp(found.results)]
  }

  /// Finds the thumbnail that answers an order although its transfer failed. It is kept for as long
  /// as the order asks, but nothing waits for that.
  ///
  /// - Returns: the answer; none if the store thread answers, once what was found is pinned.
  func findStale(_ order: FetchOrder) -> [WorkerMachine.Event] {
    let now = WallTime.now
    guard let answer = queries.answerAfterError(to: order, at: now),
      let thumbnail = answer.thumbnail
    else { return [.staleFound(order.lease, nil)] }
    let accesses = answer.accesses(keeping: order.retention, at: now)
    guard order.retention.pins.isEmpty else {
      let hit = PinnedHit(lease: order.lease, accesses: accesses)
      write(.pin([hit], answer: .stale(order.lease, thumbnail)))
      return []
    }
    extend(accesses)
    return [.staleFound(order.lease, thumbnail)]
  }

  private func extend(_ accesses: [ThumbnailAccess]) {
    if !accesses.isEmpty { write(.extend(accesses, answer: nil)) }
  }

  /// Renews the records that the origin confirmed.
  func renew(_ order: FetchOrder, confirmedBy notModified: NotModified) -> RenewalFinding {
    guard let answer = queries.answer(to: order, confirmedBy: notModified, at: .now) else {
      return .unmatched
    }
    // Of an original alone, what is made from it is pinned, and the original with it if the order keeps it.
    let retention = answer.thumbnail == nil ? order.retention.withoutPins : order.retention
    let renewals = answer.records.map { record in
      Renewal(of: record, terms: notModified.terms(of: record.terms), retention: retention)
    }
    let lease = answer.thumbnail == nil ? nil : order.lease
    write(.renew(StoreRenewal(lease: lease, renewals: renewals)))
    return answer.thumbnail.map(RenewalFinding.thumbnail)
      ?? renewals.first.map { .original($0.terms) } ?? .unmatched
  }
}

/// What the loop reads of the store. A store that cannot be read counts as one without records: the
/// URLs are fetched.
struct StoreQueries {
  private let store: SharedStore
  let unstoredRobots: UnstoredRobots
  /// When the turn of the loop began. Its first read finds out whether the store is still there.
  private var turnBegan = ContinuousClock.now

  init(store: SharedStore, unstoredRobots: UnstoredRobots) {
    self.store = store
    self.unstoredRobots = unstoredRobots
  }

  mutating func beginTurn() {
    turnBegan = .now
  }

  private func current() throws(StoreError) -> ThumbnailStore {
    try store.current(checkedSince: turnBegan)
  }

  // MARK: - Look-ups

  /// What a look-up found, and what follows from it.
  struct Lookup {
    var results: LookupResults
    /// The hits that the batch keeps for longer.
    var accesses: [ThumbnailAccess]
    /// The hits that jobs of the batch pin.
    var pinnedHits: [PinnedHit]
    /// Records that are expired or damaged.
    var staleKeys: [ContentKey]
  }

  /// Looks a batch up. A line that is no URL is a miss, whose fetch says why. So is a file that a worker reads: what
  /// the store has of it is for clients that read the store, but the file may have changed since, and
  /// reading it again costs no request.
  func lookUp(_ batch: Batch, at now: WallTime) -> Lookup {
    var wanted: [(lease: LeaseID, name: PictureName)] = []
    var misses: [LeaseID] = []
    for item in batch.items {
      if let url = try? ImageURL(parsing: item.url), !url.isFile || url.isReadByCommand {
        wanted.append((item.lease, batch.request.fetch.name(of: url)))
      } else {
        misses.append(item.lease)
      }
    }
    let names = wanted.map(\.name)
    let (thumbnails, staleKeys) = thumbnails(of: names, batch.request, at: now)
    let originals = originals(of: names, found: thumbnails, batch.request, at: now)
    var accesses: [ThumbnailAccess] = []
    var pinnedHits: [PinnedHit] = []
    var findings = Findings()
    for (index, (lease, _)) in wanted.enumerated() {
      let answer = StoredAnswer(
        to: batch, thumbnails: thumbnails[index], original: originals[index], at: now)
      findings.add(lease, answer, of: batch, at: now)
      guard let answer, answer.thumbnail != nil else { continue }
      let wanted = answer.accesses(keeping: batch.retention, at: now)
      if batch.retention.pins.isEmpty {
        accesses += wanted
      } else {
        pinnedHits.append(PinnedHit(lease: lease, accesses: wanted))
      }
    }
    let results = LookupResults(
      hits: findings.hits, stale: findings.stale, originals: findings.originals,
      misses: misses + findings.misses)
    return Lookup(
      results: results, accesses: accesses, pinnedHits: pinnedHits, staleKeys: staleKeys)
  }

  /// The thumbnails in all variants, from one snapshot; `nil` where one is missing.
  private func thumbnails(
    of names: [PictureName], _ request: ThumbnailRequest, at now: WallTime
  ) -> (found: [[CacheRecord]?], staleKeys: [ContentKey]) {
    guard !request.keep.isOriginalAlone, request.fetch.cachePolicy != .reload else {
      return (names.map { _ in nil }, [])
    }
    let keys = ContentKey.results(of: names, for: request)
    guard !keys.isEmpty, let found = try? current().lookup(keys, at: now) else {
      return (names.map { _ in nil }, [])
    }
    let countByName = keys.count / names.count
    var staleKeys: [ContentKey] = []
    let thumbnails = names.indices.map { index -> [CacheRecord]? in
      var records: [CacheRecord] = []
      for key in index * countByName..<(index + 1) * countByName {
        switch found[key] {
        case .hit(let stored) where stored.thumbnail.answers(isLenient: request.isLenient):
          records.append(stored)
        case .stale: staleKeys.append(keys[key])
        case .hit, .miss: break
        }
      }
      return records.count == countByName ? records : nil
    }
    return (thumbnails, staleKeys)
  }

  /// The originals of those for which they matter; `nil` where there is none.
  private func originals(
    of names: [PictureName], found thumbnails: [[CacheRecord]?],
    _ request: ThumbnailRequest, at now: WallTime
  ) -> [CacheRecord?] {
    let policy = request.fetch.cachePolicy
    let asked = names.indices.filter { index in
      request.keep.includesOriginal
        || thumbnails[index]?.allSatisfy { policy.accepts($0.terms, at: now) } != true
    }
    var originals: [CacheRecord?] = names.map { _ in nil }
    guard !asked.isEmpty, policy != .reload else { return originals }
    let keys = asked.map { ContentKey(originalOf: names[$0]) }
    let found = (try? current().facts(of: keys, at: now)) ?? []
    for (index, original) in zip(asked, found) { originals[index] = request.accepted(original) }
    return originals
  }

  // MARK: - One order

  /// Whether the order's thumbnail can be made from the store.
  func hasOriginal(for order: FetchOrder, at now: WallTime) -> Bool {
    let found = try? current().facts(of: [ContentKey(originalOf: order.name)], at: now)
    return found?.contains { original in
      order.request.accepted(original).map {
        order.options.cachePolicy.accepts($0.terms, at: now)
      } ?? false
    } ?? false
  }

  /// What the store has for an order that follows HTTP, fresh or not.
  private func answer(to order: FetchOrder, at now: WallTime) -> StoredAnswer? {
    guard order.mayUseStale else { return nil }
    let keys = ContentKey.results(of: order.name, for: order.request)
    let original = ContentKey(originalOf: order.name)
    guard let found = try? current().facts(of: keys + [original], at: now) else { return nil }
    let accepted = found.map(order.request.accepted)
    return StoredAnswer(
      order.request.keep, thumbnails: accepted.prefix(keys.count).complete,
      original: accepted[keys.count])
  }

  /// What the origin is asked about; `nil` if it is to send the picture in any case.
  func validators(for order: FetchOrder, at now: WallTime) -> Validators? {
    order.mayRevalidate ? answer(to: order, at: now)?.validators : nil
  }

  /// The records of the order, if the origin confirmed them; `nil` if it did not.
  func answer(
    to order: FetchOrder, confirmedBy notModified: NotModified, at now: WallTime
  ) -> StoredAnswer? {
    guard let answer = answer(to: order, at: now),
      answer.validators?.isSame(as: notModified.validators) == true
    else { return nil }
    return answer
  }

  /// The thumbnail that answers an order although its transfer failed; `nil` if the origin does not
  /// permit it (RFC 5861 section 4), or it would have to be made first.
  func answerAfterError(to order: FetchOrder, at now: WallTime) -> StoredAnswer? {
    guard let answer = answer(to: order, at: now), answer.isServedAfterError(at: now) else {
      return nil
    }
    return answer
  }

  // MARK: - Others

  /// The rules of an origin's robots.txt.
  func robots(of origin: String, at now: WallTime) -> KnownRobots? {
    guard
      let record = (try? current().robots(of: origin, at: now))
        ?? unstoredRobots.record(of: origin, at: now)
    else { return nil }
    return KnownRobots(RobotsRules(remembered: record.text), expiresAt: record.expiresAt)
  }

  /// What an earlier transfer of the picture left.
  ///
  /// - Parameter pool: decides where the bytes lie.
  func partial(
    for order: FetchOrder, copiedBy pool: TransferPool, at now: WallTime
  ) -> PartialBody? {
    guard order.mayLeavePartial else { return nil }
    let found = try? current().withPartial(of: order.name, at: now) { partial, bytes in
      PartialBody(content: pool.content(copying: bytes), resumeState: partial.state)
    }
    return found ?? nil
  }
}

/// What a look-up has found, lease by lease.
private struct Findings {
  private(set) var hits: [LookupResults.Hit] = []
  private(set) var stale: [LeaseID] = []
  private(set) var originals: [LeaseID] = []
  private(set) var misses: [LeaseID] = []

  mutating func add(
    _ lease: LeaseID, _ answer: StoredAnswer?, of batch: Batch, at now: WallTime
  ) {
    guard let answer else { return misses.append(lease) }
    guard let thumbnail = answer.thumbnail else { return originals.append(lease) }
    hits.append(LookupResults.Hit(lease: lease, thumbnail: thumbnail))
    // An origin that fails is not asked.
    guard !batch.takesStale else { return }
    if !answer.isAccepted(by: batch.request.fetch.cachePolicy, at: now) { stale.append(lease) }
  }
}

extension Collection where Element == CacheRecord? {
  /// All of them; `nil` if one is missing.
  fileprivate var complete: [CacheRecord]? {
    let found = compactMap(\.self)
    return found.count == count ? found : nil
  }
}

extension ThumbnailRequest {
  /// A record that may answer the request; `nil` for none, and for one of a damaged picture unless
  /// the request is lenient.
  fileprivate func accepted(_ record: CacheRecord?) -> CacheRecord? {
    record.flatMap { $0.thumbnail.answers(isLenient: isLenient) ? $0 : nil }
  }
}

extension RobotsRules: RobotsRuleSet {}

/// The records of the store that answer a lease, if it has all that the request keeps.
struct StoredAnswer {
  /// What is reported; `nil` if the thumbnails have to be made from the original.
  let thumbnail: Thumbnail?
  /// The records that it depends on.
  let records: [CacheRecord]

  /// - Parameters:
  ///   - thumbnails: in each of the variants, not empty; `nil` if one is missing.
  ///   - original: of the picture.
  /// - Returns: `nil` for a miss.
  init?(_ keep: Keep, thumbnails: [CacheRecord]?, original: CacheRecord?) {
    switch (keep, thumbnails, original) {
    // Whether its pixels can be decoded is not known yet.
    case (.original, _, let original?) where original.isUndecoded: self.init(nil, [original])
    case (.original, _, let original?), (.undecodedOriginal, _, let original?):
      self.init(original.thumbnail, [original])
    case (.all, let thumbnails?, let original?):
      self.init(thumbnails[0].thumbnail, thumbnails + [original])
    case (.thumbnail, let thumbnails?, _), (.auto, let thumbnails?, _), (.none, let thumbnails?, _),
      (.facts, let thumbnails?, _), (.allFacts, let thumbnails?, _),
      (.pixelFacts, let thumbnails?, _):
      self.init(thumbnails[0].thumbnail, thumbnails)
    case (_, nil, let original?):
      self.init(nil, [original])
    case (_, _, nil): return nil
    }
  }

  /// What the batch's policy lets the store serve.
  ///
  /// - Returns: `nil` for a miss.
  init?(
    to batch: Batch, thumbnails: [CacheRecord]?, original: CacheRecord?, at now: WallTime
  ) {
    let policy = batch.request.fetch.cachePolicy
    let first = StoredAnswer(batch.request.keep, thumbnails: thumbnails, original: original)
    if let first, first.isAccepted(by: policy, at: now) {
      self = first
      return
    }
    // If a thumbnail is stale, the original may be fresh: it may have been fetched since.
    let answers = [
      first, StoredAnswer(batch.request.keep, thumbnails: nil, original: original),
    ].compactMap(\.self)
    let accepted = answers.first { $0.isAccepted(by: policy, at: now) }
    let served =
      accepted
      ?? answers.first { answer in
        policy == .byProtocol
          && (answer.isServedWhileRevalidating(at: now)
            || batch.takesStale && answer.isServedAfterError(at: now))
      }
    guard let served else { return nil }
    self = served
  }

  private init(_ thumbnail: Thumbnail?, _ records: [CacheRecord]) {
    self.thumbnail = thumbnail
    self.records = records
  }

  /// Whether it may be served stale while the origin is asked about it.
  private func isServedWhileRevalidating(at now: WallTime) -> Bool {
    thumbnail != nil && records.allSatisfy { $0.terms.servesWhileRevalidating(at: now) }
  }

  /// Whether it may be served stale if the origin fails.
  func isServedAfterError(at now: WallTime) -> Bool {
    thumbnail != nil && records.allSatisfy { $0.terms.servesAfterError(at: now) }
  }

  /// Whether it may be served as it is.
  func isAccepted(by policy: CachePolicy, at now: WallTime) -> Bool {
    records.allSatisfy { policy.accepts($0.terms, at: now) }
  }

  /// What the origin can be asked about: the validators that all of the records have.
  var validators: Validators? {
    let validators = records.map { Validators($0.terms) }
    guard let first = validators.first ?? nil,
      validators.allSatisfy({ $0?.isSame(as: first) == true })
    else { return nil }
    return first
  }

  /// The accesses by which its records are kept for longer, or pinned.
  func accesses(keeping retention: Retention, at now: WallTime) -> [ThumbnailAccess] {
    records.compactMap { record in
      let extends = record.extended(by: retention, at: now) != nil
      guard extends || !retention.pins.isEmpty else { return nil }
      return ThumbnailAccess(key: record.id, retention: retention, at: now, extends: extends)
    }
  }
}

/// The rules of robots.txt that the store did not take, such as on a full disk: this worker remembers them in its
/// place. The texts take a small part of what rules take that are read.
final class UnstoredRobots: Sendable {
  private struct Records {
    var texts: [String: RobotsRecord] = [:]
    var byteCount = 0
  }

  private let records = Mutex(Records())

  /// As much as 32 of the longest files.
  static let maximumByteCount = 16 << 20
  /// What a short text takes beside its bytes.
  private static let overheadByteCount = 256

  /// Remembers the rules of an origin. If all together take too much, the others are dropped, and fetched again
  /// when needed.
  func keep(_ record: RobotsRecord, of origin: String) {
    let byteCount = record.text.utf8.count + origin.utf8.count + Self.overheadByteCount
    records.withLock { records in
      if records.byteCount + byteCount > Self.maximumByteCount { records = Records() }
      records.texts[origin] = record
      records.byteCount += byteCount
    }
  }

  func record(of origin: String, at now: WallTime) -> RobotsRecord? {
    records.withLock { $0.texts[origin] }.flatMap { $0.isExpired(at: now) ? nil : $0 }
  }

  func forget() { records.withLock { $0 = Records() } }
}
