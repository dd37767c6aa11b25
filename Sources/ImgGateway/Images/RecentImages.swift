import ImgClient
import ImgCollections
import ImgHTTP
import Synchronization

/// The entries that were used last, up to a size of all together in bytes.
final class RecentImages: Sendable {
  /// What an entry needs beside the bytes of its image and its URL, about.
  private static let overhead = 1_024

  private let capacity: Int
  private let entries = Mutex(LeastRecentlyUsed<ImageRequest, PreparedImages.Entry>())

  init(capacity: Int) {
    self.capacity = capacity
  }

  func use(_ request: ImageRequest) -> PreparedImages.Entry? {
    entries.withLock { $0.use(request) }
  }

  func remove(_ request: ImageRequest) {
    entries.withLock { _ = $0.remove(request) }
  }

  /// An image that takes more than half of the capacity would push out all others, so it is not kept.
  ///
  /// - Returns: the entry, with the copy of its image that is there already.
  func insert(_ entry: PreparedImages.Entry, for request: ImageRequest) -> PreparedImages.Entry {
    let cost = entry.image.body.count + request.url.utf8.count + Self.overhead
    guard cost <= capacity / 2 else { return entry }
    return entries.withLock { entries in
      var entry = entry
      if let known = entries.use(request)?.image, known.isCopy(of: entry.image) {
        entry = entry.with(known)
      }
      entries.insert(entry, as: request, cost: cost)
      entries.trim(toCost: capacity)
      return entry
    }
  }
}
