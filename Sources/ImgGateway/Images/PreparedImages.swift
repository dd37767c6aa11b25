import ImgClient
import ImgModel
import Synchronization

/// The thumbnails that were sent last, so that a hit costs neither a look-up in the store nor a hash.
///
/// An image is compared with the store at least once a second, so that one that was removed or replaced there
/// is not sent for longer.
final class PreparedImages: Sendable {
  private struct Entry {
    let image: PreparedImage
    let checkedAt: WallTime

    func isCurrent(at now: WallTime) -> Bool {
      // A clock that was set back makes nothing current.
      let age = checkedAt.duration(to: now)
      guard age >= .zero, age < PreparedImages.checkInterval else { return false }
      return image.expiresAt.map { now < $0 } ?? true
    }
  }

  /// The size of all images together in bytes.
  private static let capacity = 40 << 20
  /// What an entry needs beside the bytes of its image, about.
  private static let overhead = 1_024
  private static let checkInterval = Duration.seconds(1)

  private let client: ImageClient
  private let entries = Mutex(LeastRecentlyUsed<ImageRequest, Entry>())

  /// - Parameter client: without a memory of its own, which would hide changes of the store.
  init(_ client: ImageClient) {
    self.client = client
  }

  /// The hit for a request; `nil` if neither the memory nor the store has one.
  func image(
    for request: ImageRequest, at now: WallTime
  ) throws(ImageError) -> PreparedImage? {
    let known = entries.withLock { $0.use(request) }
    if let known, known.isCurrent(at: now) { return known.image }
    guard let stored = try client.cachedImage(for: request) else {
      if known != nil { entries.withLock { _ = $0.remove(request) } }
      return nil
    }
    let isSame =
      known?.image.image.storedAt == stored.storedAt
      && known?.image.image.expiresAt == stored.expiresAt
    let image = isSame ? known?.image ?? PreparedImage(stored) : PreparedImage(stored)
    insert(image, for: request, at: now)
    return image
  }

  private func insert(_ image: PreparedImage, for request: ImageRequest, at now: WallTime) {
    entries.withLock { entries in
      entries.insert(
        Entry(image: image, checkedAt: now), as: request,
        cost: image.image.bytes.count + Self.overhead)
      entries.trim(toCost: Self.capacity)
    }
  }
}
