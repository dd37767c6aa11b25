import ImgModel
import ImgStore
import ImgSystem
import ImgWire

/// Looking up what the store has.
extension Worker {
  /// Looks a batch up. A line that is no URL is a miss, whose fetch says why. So is a file: what the
  /// store has of it is for whoever asks the store, but the file may have changed since, and reading
  /// it again troubles no origin.
  ///
  /// - Returns: `nil` when something found is to be kept for longer: then the store thread answers,
  ///   so that whoever is answered finds it kept as asked for.
  func lookUp(_ batch: Batch) -> LookupResults? {
    let now = wallTime
    var wanted: [(lease: LeaseID, name: PictureName)] = []
    var misses: [LeaseID] = []
    var accesses: [ThumbnailAccess] = []
    for item in batch.items {
      if let url = try? ImageURL(parsing: item.url), !url.isFile {
        wanted.append((item.lease, batch.request.fetch.name(of: url)))
      } else {
        misses.append(item.lease)
      }
    }
    let thumbnails = storedThumbnails(of: wanted.map(\.name), batch, at: now)
    let originals = storedOriginals(of: wanted.map(\.name), found: thumbnails, batch, at: now)
    var findings = Findings()
    for (index, (lease, _)) in wanted.enumerated() {
      let answer = Self.answer(
        to: batch, thumbnail: thumbnails[index], original: originals[index], at: now)
      findings.add(lease, answer, of: batch, at: now)
      guard answer?.thumbnail != nil else { continue }
      for stored in answer?.records ?? []
      where stored.extended(by: batch.retention, at: now) != nil {
        accesses.append(ThumbnailAccess(key: stored.key, retention: batch.retention, at: now))
      }
    }
    let results = LookupResults(
      hits: findings.hits, stale: findings.stale, originals: findings.originals,
      misses: misses + findings.misses)
    return answer(results, extending: accesses, for: batch)
  }

  /// - Returns: `nil` when the store thread answers.
  private func answer(
    _ results: LookupResults, extending accesses: [ThumbnailAccess], for batch: Batch
  ) -> LookupResults? {
    guard !accesses.isEmpty else { return results }
    // Nobody waits for what happens by itself.
    guard batch.retention == Retention() else {
      storeThread.extend(accesses, thenAnswer: results)
      return nil
    }
    storeThread.extend(accesses)
    return results
  }

  /// What the store has that the batch's policy lets it give out; `nil` for a miss.
  private static func answer(
    to batch: Batch, thumbnail: StoredThumbnail?, original: StoredThumbnail?, at now: WallTime
  ) -> StoredAnswer? {
    // Where the thumbnail is stale, the original may be fresh: it may have been fetched since.
    let answers = [thumbnail, nil].compactMap {
      StoredAnswer(batch.request.keep, thumbnail: $0, original: original)
    }
    let policy = batch.request.fetch.cachePolicy
    if let accepted = answers.first(where: { $0.isAccepted(by: policy, at: now) }) {
      return accepted
    }
    guard policy == .byProtocol else { return nil }
    return answers.first { answer in
      answer.isServedWhileRevalidating(at: now)
        || batch.takesStale && answer.isServedAfterError(at: now)
    }
  }

  /// The thumbnails in the variant, from one snapshot; `nil` where there is none.
  private func storedThumbnails(
    of names: [PictureName], _ batch: Batch, at now: WallTime
  ) -> [StoredThumbnail?] {
    guard batch.request.keep != .original, batch.request.fetch.cachePolicy != .reload else {
      return names.map { _ in nil }
    }
    let keys = names.map { ContentKey($0, variant: batch.request.variant) }
    // A store that cannot be read is a store without the records: the URLs are fetched.
    let found = (try? store.current().lookup(keys, at: now)) ?? keys.map { _ in .miss }
    return zip(keys, found).map { key, found in
      switch found {
      case .hit(let stored): return stored
      case .stale:
        storeThread.removeStale(key)
        return nil
      case .miss: return nil
      }
    }
  }

  /// The originals of those for which they matter; `nil` where there is none.
  private func storedOriginals(
    of names: [PictureName], found thumbnails: [StoredThumbnail?], _ batch: Batch, at now: WallTime
  ) -> [StoredThumbnail?] {
    let policy = batch.request.fetch.cachePolicy
    let asked = names.indices.filter { index in
      batch.request.keep.includesOriginal
        || !(thumbnails[index].map { policy.accepts($0.terms, at: now) } ?? false)
    }
    var originals: [StoredThumbnail?] = names.map { _ in nil }
    guard !asked.isEmpty, policy != .reload else { return originals }
    let keys = asked.map { ContentKey(originalOf: names[$0]) }
    let found = (try? store.current().facts(of: keys, at: now)) ?? []
    for (index, original) in zip(asked, found) { originals[index] = original }
    return originals
  }

  /// Whether the lease's thumbnail can be made from the store.
  func hasOriginal(for fetch: Fetch) -> Bool {
    let now = wallTime
    let found = try? store.current().facts(of: [ContentKey(originalOf: fetch.name)], at: now)
    return found?.contains { original in
      original.map { fetch.cachePolicy.accepts($0.terms, at: now) } ?? false
    } ?? false
  }

  var wallTime: WallTime { WallTime(rawValue: WallClock.milliseconds()) }
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
    // Of an origin that fails there is nothing to ask.
    guard !batch.takesStale else { return }
    if !answer.isAccepted(by: batch.request.fetch.cachePolicy, at: now) { stale.append(lease) }
  }
}
