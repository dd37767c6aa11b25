import ImgStore
import ImgSystem
import ImgWire

/// Looking up what the store has.
extension Worker {
  /// Answers a batch from one snapshot of the store. A line that is no URL is a miss, whose fetch
  /// says why.
  func lookUp(_ batch: Batch) -> LookupResults {
    var wanted: [(lease: LeaseID, key: ContentKey)] = []
    var hits: [LookupResults.Hit] = []
    var misses: [LeaseID] = []
    for item in batch.items {
      if let url = try? ImageURL(parsing: item.url) {
        wanted.append((item.lease, ContentKey(url: url, variant: batch.variant)))
      } else {
        misses.append(item.lease)
      }
    }
    for ((lease, key), found) in zip(wanted, stored(wanted.map(\.key))) {
      if case .stale = found { storeThread.removeStale(key) }
      if case .hit(let stored) = found {
        hits.append(LookupResults.Hit(lease: lease, thumbnail: stored.thumbnail))
      } else {
        misses.append(lease)
      }
    }
    return LookupResults(hits: hits, misses: misses)
  }

  /// A store that cannot be read is a store without the records: the URLs are fetched.
  private func stored(_ keys: [ContentKey]) -> [StoreLookup] {
    let now = WallTime(rawValue: WallClock.milliseconds())
    return (try? store.current().lookup(keys, at: now))
      ?? [StoreLookup](repeating: .miss, count: keys.count)
  }
}
