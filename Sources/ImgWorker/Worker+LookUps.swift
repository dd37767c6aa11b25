import ImgStore
import ImgSystem
import ImgWire

/// Looking up what the store has.
extension Worker {
  /// Looks a batch up. A line that is no URL is a miss, whose fetch says why.
  ///
  /// - Returns: `nil` when something found is to be kept for longer: then the store thread answers,
  ///   so that whoever is answered finds it kept as asked for.
  func lookUp(_ batch: Batch) -> LookupResults? {
    let now = wallTime
    var wanted: [(lease: LeaseID, name: PictureName)] = []
    var misses: [LeaseID] = []
    var accesses: [ThumbnailAccess] = []
    for item in batch.items {
      if let url = try? ImageURL(parsing: item.url) {
        wanted.append((item.lease, batch.fetch.name(of: url)))
      } else {
        misses.append(item.lease)
      }
    }
    let thumbnails = storedThumbnails(of: wanted.map(\.name), batch, at: now)
    let originals = storedOriginals(of: wanted.map(\.name), found: thumbnails, batch, at: now)
    var hits: [LookupResults.Hit] = []
    var decodable: [LeaseID] = []
    for (index, (lease, _)) in wanted.enumerated() {
      switch Self.finding(batch.keep, thumbnail: thumbnails[index], original: originals[index]) {
      case .hit(let thumbnail):
        hits.append(LookupResults.Hit(lease: lease, thumbnail: thumbnail))
        let kept = [thumbnails[index], batch.keep.includesOriginal ? originals[index] : nil]
        for stored in kept.compactMap(\.self)
        where stored.extended(by: batch.retention, at: now) != nil {
          accesses.append(ThumbnailAccess(key: stored.key, retention: batch.retention, at: now))
        }
      case .original: decodable.append(lease)
      case .miss: misses.append(lease)
      }
    }
    let results = LookupResults(hits: hits, originals: decodable, misses: misses)
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

  private enum Finding {
    case hit(Thumbnail)
    /// The thumbnail can be made from the original.
    case original
    case miss
  }

  /// It is a hit when the store has all that is to be kept.
  private static func finding(
    _ keep: Keep, thumbnail: StoredThumbnail?, original: StoredThumbnail?
  ) -> Finding {
    switch (keep, thumbnail, original) {
    case (.original, _, let original?): .hit(original.thumbnail)
    case (.all, let thumbnail?, _?), (.thumbnail, let thumbnail?, _), (.none, let thumbnail?, _):
      .hit(thumbnail.thumbnail)
    case (.all, nil, _?), (.thumbnail, nil, _?), (.none, nil, _?): .original
    case (_, _, nil): .miss
    }
  }

  /// The thumbnails in the variant, from one snapshot; `nil` where there is none.
  private func storedThumbnails(
    of names: [PictureName], _ batch: Batch, at now: WallTime
  ) -> [StoredThumbnail?] {
    guard batch.keep != .original else { return names.map { _ in nil } }
    let keys = names.map { ContentKey($0, variant: batch.variant) }
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
    let asked = names.indices.filter { batch.keep.includesOriginal || thumbnails[$0] == nil }
    var originals: [StoredThumbnail?] = names.map { _ in nil }
    guard !asked.isEmpty else { return originals }
    let keys = asked.map { ContentKey(originalOf: names[$0]) }
    let found = (try? store.current().facts(of: keys, at: now)) ?? []
    for (index, original) in zip(asked, found) { originals[index] = original }
    return originals
  }

  /// Whether a thumbnail of the picture can be made from the store.
  func hasOriginal(of name: PictureName) -> Bool {
    let found = try? store.current().facts(of: [ContentKey(originalOf: name)], at: wallTime)
    return found?.contains { $0 != nil } ?? false
  }

  var wallTime: WallTime { WallTime(rawValue: WallClock.milliseconds()) }
}
