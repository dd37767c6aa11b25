import ImgModel
import ImgWire

/// What the shared store has, as the coordinator sees it, and for how long.
struct StoreModel {
  struct Key: Hashable {
    let url: String
    let variant: Variant
    var part = PicturePart.whole
  }

  var thumbnails: [Key: Retention] = [:]
  /// Those that had to go, also if another request has had them made again since.
  private(set) var evicted: Set<Key> = []
  /// By URL.
  var originals: [String: Retention] = [:]
  /// Of the URLs that are not fresh, whether they may be given out while they are revalidated. While
  /// their origins fail, all of them may.
  var stale: [String: Bool] = [:]

  enum Finding {
    case hit, staleHit, original, miss
  }

  /// What a worker says of a line that it looks up.
  func finding(of url: String, in batch: Batch) -> Finding {
    guard batch.request.fetch.cachePolicy != .reload else { return .miss }
    let found = content(of: url, in: batch)
    guard batch.request.fetch.cachePolicy == .byProtocol, let isServed = stale[url] else {
      return found
    }
    guard found == .hit, isServed || batch.takesStale else { return .miss }
    return batch.takesStale ? .hit : .staleHit
  }

  /// Whether a worker makes a thumbnail of the original that it has.
  func hasOriginal(of url: String, for policy: CachePolicy) -> Bool {
    originals[url] != nil && policy != .reload && (policy != .byProtocol || stale[url] == nil)
  }

  /// Whether a lease that follows HTTP has its answer when the origin says that nothing has
  /// changed.
  func holds(_ fetch: WorkerModel.Fetch) -> Bool {
    guard fetch.policy == .byProtocol, !fetch.bypassesStore else { return false }
    return switch fetch.keep {
    case .none, .thumbnail, .facts, .allFacts, .pixelFacts: thumbnails[Self.key(fetch)] != nil
    case .original: originals[fetch.url] != nil
    case .all: thumbnails[Self.key(fetch)] != nil && originals[fetch.url] != nil
    }
  }

  private func content(of url: String, in batch: Batch) -> Finding {
    let hasThumbnail = thumbnails[Self.key(url, batch)] != nil
    let hasOriginal = originals[url] != nil
    switch batch.request.keep {
    case .none, .thumbnail, .facts, .allFacts, .pixelFacts:
      return hasThumbnail ? .hit : hasOriginal ? .original : .miss
    case .original: return hasOriginal ? .hit : .miss
    case .all: return !hasOriginal ? .miss : hasThumbnail ? .hit : .original
    }
  }

  /// What a look-up has found is kept for as long as it asks for, and no shorter than before.
  mutating func extend(_ url: String, as batch: Batch) {
    thumbnails[Self.key(url, batch)]?.formUnion(batch.retention)
    if batch.request.keep.includesOriginal { originals[url]?.formUnion(batch.retention) }
  }

  /// A fetch has succeeded.
  mutating func keep(_ fetch: WorkerModel.Fetch) {
    stale[fetch.url] = nil
    if fetch.keep.includesResult {
      thumbnails[Self.key(fetch), default: fetch.retention].formUnion(fetch.retention)
    }
    if fetch.keep.includesOriginal {
      originals[fetch.url, default: fetch.retention].formUnion(fetch.retention)
    }
  }

  /// The thumbnail had to go at once.
  mutating func evict(_ fetch: WorkerModel.Fetch) {
    evicted.insert(Self.key(fetch))
    thumbnails[Self.key(fetch)] = nil
  }

  private static func key(_ fetch: WorkerModel.Fetch) -> Key {
    Key(url: fetch.url, variant: fetch.variant, part: fetch.keep.part)
  }

  private static func key(_ url: String, _ batch: Batch) -> Key {
    Key(url: url, variant: batch.request.variant, part: batch.request.keep.part)
  }
}
