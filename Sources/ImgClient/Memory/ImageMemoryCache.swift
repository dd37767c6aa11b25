import ImgModel
import Synchronization

/// Thumbnails in the memory of this process: the ones that were used last, up to a number of bytes.
///
/// An image leaves when it expires, when others need its place, or when the machine runs out of memory. An
/// image that was removed from the store may stay until then, see ``removeAll()``.
public final class ImageMemoryCache: Sendable {
  /// What the cache holds, and how often it had what was asked for.
  public struct Statistics: Hashable, Sendable {
    /// The number of images.
    public internal(set) var count = 0
    /// The size of the images, with what the cache needs for each.
    public internal(set) var byteCount = 0
    /// How often the cache had what was asked for.
    public internal(set) var hitCount = 0
    /// How often it did not.
    public internal(set) var missCount = 0
  }

  private struct State {
    var images = LeastRecentlyUsed<MemoryKey, Entry>()
    var hits = 0
    var misses = 0
  }

  private struct Entry {
    let image: LoadedImage
    let expiresAt: WallTime
  }

  /// 40 MiB.
  public static let standardCapacity = 40 << 20
  /// 10 MiB. A smaller capacity is raised to it.
  public static let minimumCapacity = 10 << 20

  /// The largest size of all images together, in bytes.
  public let capacity: Int
  private let pressure: MemoryPressure
  private let state = Mutex(State())

  /// What the cache needs for an image beside its bytes, about.
  private static let overhead = 512

  /// An empty cache.
  ///
  /// - Parameter capacity: in bytes, see ``minimumCapacity``.
  public convenience init(capacity: Int = standardCapacity) {
    self.init(capacity: capacity, pressure: MemoryPressure())
  }

  init(capacity: Int, pressure: MemoryPressure) {
    self.capacity = max(capacity, Self.minimumCapacity)
    self.pressure = pressure
  }

  /// The image of a request; `nil` if the cache does not have it, or the request wants another answer
  /// than a hit.
  public func image(for request: ImageRequest) -> LoadedImage? {
    guard request.takesHitsFromMemory else { return nil }
    let key = MemoryKey(request)
    let now = WallTime.now
    let image = state.withLock { state -> LoadedImage? in
      if let entry = state.images.value(of: key), entry.expiresAt <= now {
        state.images.remove(key)
      }
      let image = state.images.use(key)?.image
      if image == nil { state.misses += 1 } else { state.hits += 1 }
      return image
    }
    return image?.from(.memory)
  }

  /// Remembers the image of a request in place of the one before. One that is larger than the cache, is not
  /// stored, or has an expiry that each access moves is not remembered.
  public func insert(_ image: LoadedImage, for request: ImageRequest) {
    guard request.cachePolicy != .bypass else { return }
    let key = MemoryKey(request)
    let cost = image.bytes.count + key.byteCount + Self.overhead
    let limit = pressure.isHigh() ? capacity / 8 : capacity
    state.withLock { state in
      state.images.remove(key)
      if let expiresAt = image.expiresAt, !image.isExpirySliding, cost <= limit {
        let entry = Entry(image: image, expiresAt: WallTime(expiresAt))
        state.images.insert(entry, as: key, cost: cost)
      }
      state.images.trim(toCost: limit)
    }
  }

  /// Forgets the image of a request.
  public func removeImage(for request: ImageRequest) {
    let key = MemoryKey(request)
    state.withLock { state in _ = state.images.remove(key) }
  }

  /// Forgets all images.
  public func removeAll() {
    trim(toByteCount: 0)
  }

  /// Forgets the images that were not used for longest, until the others have so many bytes at most.
  public func trim(toByteCount byteCount: Int) {
    state.withLock { $0.images.trim(toCost: max(0, byteCount)) }
  }

  /// What the cache holds now.
  public var statistics: Statistics {
    state.withLock { state in
      Statistics(
        count: state.images.count, byteCount: state.images.cost, hitCount: state.hits,
        missCount: state.misses)
    }
  }
}
