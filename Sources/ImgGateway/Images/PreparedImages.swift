import ImgClient
import ImgHTTP
import ImgModel
import Synchronization

/// The thumbnails that were sent last, so that a hit costs neither a look-up in the store nor a hash.
///
/// An image is compared with the store at least once a second, so that one that was removed or replaced there
/// is not sent for longer.
final class PreparedImages: Sendable {
  struct Entry {
    let image: PreparedImage
    fileprivate let checkedAt: WallTime

    /// When the image must be compared with the store.
    var end: WallTime {
      let next = checkedAt.advanced(by: PreparedImages.checkInterval)
      return image.expiresAt.map { min($0, next) } ?? next
    }

    fileprivate func isCurrent(at now: WallTime) -> Bool {
      // A clock that was set back makes nothing current.
      checkedAt <= now && now < end
    }
  }

  /// The size of all images together in bytes.
  private static let capacity = 32 << 20
  /// What an entry needs beside the bytes of its image, about.
  private static let overhead = 1_024
  /// The size of one image in bytes. A larger one is read from the store each time, so that it does not push out
  /// many others.
  private static let maximumByteCount = capacity / 8
  private static let checkInterval = Duration.seconds(1)

  private let client: ImageClient
  private let entries = Mutex(LeastRecentlyUsed<ImageRequest, Entry>())

  /// - Parameter client: without a memory of its own, which would hide changes of the store.
  init(_ client: ImageClient) {
    self.client = client
  }

  /// The hit for a request; `nil` if neither the memory nor the store has one.
  func entry(for request: ImageRequest, at now: WallTime) throws(ImageError) -> Entry? {
    let known = entries.withLock { $0.use(request) }
    if let known, known.isCurrent(at: now) { return known }
    guard let stored = try client.cachedImage(for: request) else {
      if known != nil { entries.withLock { _ = $0.remove(request) } }
      return nil
    }
    let same = known.flatMap { $0.image.isCopy(of: stored) ? $0.image : nil }
    let entry = Entry(image: same ?? PreparedImage(stored), checkedAt: now)
    insert(entry, for: request)
    return entry
  }

  private func insert(_ entry: Entry, for request: ImageRequest) {
    let byteCount = entry.image.body.count
    entries.withLock { entries in
      guard byteCount <= Self.maximumByteCount else {
        entries.remove(request)
        return
      }
      entries.insert(entry, as: request, cost: byteCount + Self.overhead)
      entries.trim(toCost: Self.capacity)
    }
  }
}
