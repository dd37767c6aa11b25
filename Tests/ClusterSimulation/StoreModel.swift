import ImgWire

/// What the shared store has, as the coordinator sees it, and for how long.
struct StoreModel {
  struct Key: Hashable {
    let url: String
    let variant: Variant
  }

  var thumbnails: [Key: Retention] = [:]
  /// By URL.
  var originals: [String: Retention] = [:]

  enum Finding {
    case hit, original, miss
  }

  /// What a worker says of a line that it looks up.
  func finding(of url: String, in batch: Batch) -> Finding {
    let hasThumbnail = thumbnails[Key(url: url, variant: batch.variant)] != nil
    let hasOriginal = originals[url] != nil
    switch batch.keep {
    case .none, .thumbnail: return hasThumbnail ? .hit : hasOriginal ? .original : .miss
    case .original: return hasOriginal ? .hit : .miss
    case .all: return !hasOriginal ? .miss : hasThumbnail ? .hit : .original
    }
  }

  /// What a look-up has found is kept for as long as it asks for, and no shorter than before.
  mutating func extend(_ url: String, as batch: Batch) {
    thumbnails[Key(url: url, variant: batch.variant)]?.formUnion(batch.retention)
    if batch.keep.includesOriginal { originals[url]?.formUnion(batch.retention) }
  }

  /// A fetch has succeeded.
  mutating func keep(_ fetch: WorkerModel.Fetch) {
    if fetch.keep.includesThumbnail {
      thumbnails[Self.key(fetch), default: fetch.retention].formUnion(fetch.retention)
    }
    if fetch.keep.includesOriginal {
      originals[fetch.url, default: fetch.retention].formUnion(fetch.retention)
    }
  }

  /// The thumbnail had to go at once.
  mutating func evict(_ fetch: WorkerModel.Fetch) {
    thumbnails[Self.key(fetch)] = nil
  }

  private static func key(_ fetch: WorkerModel.Fetch) -> Key {
    Key(url: fetch.url, variant: fetch.variant)
  }
}
