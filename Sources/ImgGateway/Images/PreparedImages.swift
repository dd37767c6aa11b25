import Dispatch
import ImgClient
import ImgHTTP
import ImgModel

/// The thumbnails that were sent last, so that a hit costs neither a look-up in the store nor a hash.
///
/// An image is compared with the store at least once a second, so that one that was removed or replaced there
/// is not sent for longer.
final class PreparedImages: Sendable {
  struct Entry {
    let image: PreparedImage
    /// When it was the one of the store.
    let checkedAt: WallTime

    /// The same check of another copy of the image.
    func with(_ image: PreparedImage) -> Entry {
      Entry(image: image, checkedAt: checkedAt)
    }

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

  /// What a look into memory and store finds.
  enum Found {
    case hit(Entry)
    /// A hit without its bytes, which take long to copy or were not expected, see ``copy(_:for:)``.
    case large(LoadedImage)
    case nothing
    /// A hit whose bytes have no room in memory.
    case noRoom
  }

  private static let checkInterval = Duration.seconds(1)
  /// A larger image takes too long to copy and to hash on a thread that other connections need.
  static let smallMaximum = 256 << 10
  static let standardBudget = 512 << 20

  private let client: ImageClient
  private let small = RecentImages(capacity: 32 << 20)
  private let large = RecentImages(capacity: 64 << 20)
  private let budget: ByteBudget
  /// Large images are copied one after the other.
  private let copies: DispatchQueue

  /// - Parameters:
  ///   - client: without a memory of its own, which would hide changes of the store.
  ///   - budget: of the bytes of all images, with those that are being sent.
  ///   - copies: a serial queue for large images.
  init(
    _ client: ImageClient, budget: Int = standardBudget,
    copies: DispatchQueue = DispatchQueue(label: "copies of large images")
  ) {
    self.client = client
    self.copies = copies
    self.budget = ByteBudget(budget)
  }

  /// Makes an image ready to be sent. Waits while a large one is copied.
  ///
  /// - Returns: `nil` if its bytes have no room.
  /// - Throws: ``ImageError/Code/cancelled`` if its task is cancelled while it waits.
  func prepare(_ image: LoadedImage) async throws(ImageError) -> PreparedImage? {
    guard image.bytes.count > Self.smallMaximum else { return prepareHere(image) }
    let (budget, byteCount) = (budget, image.bytes.count)
    // Before it waits, so that the bytes of those that wait are limited, too.
    guard budget.take(byteCount) else { return nil }
    let prepared = await QueuedWork.value(on: copies) {
      PreparedImage(image, takenFrom: budget)
    } skip: {
      budget.release(byteCount)
    }
    guard let prepared else { throw Self.cancelled }
    return prepared
  }

  /// Makes ready an image that was just loaded, and keeps it if it is stored. Those who have waited for the same image
  /// share it.
  ///
  /// - Returns: `nil` if its bytes have no room.
  /// - Throws: as ``prepare(_:)``.
  func add(
    _ image: LoadedImage, for request: ImageRequest
  ) async throws(ImageError) -> PreparedImage? {
    let now = WallTime.now
    if let known = known(request)?.image, known.isCopy(of: image) {
      return known.from(image.origin)
    }
    guard let prepared = try await prepare(image) else { return nil }
    // What is not stored cannot be compared with the store.
    guard prepared.storedAt != nil else { return prepared }
    return insert(prepared, for: request, at: now).image.from(image.origin)
  }

  private func prepareHere(_ image: LoadedImage) -> PreparedImage? {
    PreparedImage(image, within: budget)
  }

  /// The hit for a request, without a long wait.
  func find(_ request: ImageRequest, at now: WallTime) throws(ImageError) -> Found {
    let known = known(request)
    if let known, known.isCurrent(at: now) { return .hit(known) }
    // An image that is still the one of the store needs no bytes.
    let maximum = known == nil ? Self.smallMaximum : 0
    guard let stored = try client.cachedImage(for: request, bytesUpTo: maximum) else {
      remove(request)
      return .nothing
    }
    if let known, known.image.isCopy(of: stored) {
      return .hit(insert(known.image, for: request, at: now))
    }
    guard !stored.bytes.isEmpty else { return .large(stored) }
    return keep(stored, for: request, at: now)
  }

  /// The hit for a request whose large image was found or loaded without its bytes. Waits while they are copied.
  ///
  /// - Returns: nothing if the image was removed meanwhile.
  /// - Throws: also as ``prepare(_:)``.
  func copy(_ image: LoadedImage, for request: ImageRequest) async throws(ImageError) -> Found {
    let now = WallTime.now
    let copied = await QueuedWork.value(on: copies) {
      Result { () throws(ImageError) in try self.copyHere(image, for: request, at: now) }
    }
    guard let copied else { throw Self.cancelled }
    return try copied.get()
  }

  private static let cancelled = ImageError(
    code: .cancelled, message: "the request ended while its picture waited to be copied")

  private func copyHere(
    _ image: LoadedImage, for request: ImageRequest, at now: WallTime
  ) throws(ImageError) -> Found {
    // Others may have waited for the same image.
    if let known = known(request), known.image.isCopy(of: image) { return .hit(known) }
    guard let whole = try client.wholeImage(image, for: request) else { return .nothing }
    return keep(whole, for: request, at: now)
  }

  private func known(_ request: ImageRequest) -> Entry? {
    small.use(request) ?? large.use(request)
  }

  private func remove(_ request: ImageRequest) {
    small.remove(request)
    large.remove(request)
  }

  private func keep(_ stored: LoadedImage, for request: ImageRequest, at now: WallTime) -> Found {
    guard let image = prepareHere(stored) else { return .noRoom }
    return .hit(insert(image, for: request, at: now))
  }

  /// - Returns: an entry with the image, or with a copy of it that another thread has inserted.
  private func insert(
    _ image: PreparedImage, for request: ImageRequest, at now: WallTime
  ) -> Entry {
    let entry = Entry(image: image.from(.store), checkedAt: now)
    let isSmall = image.body.count <= Self.smallMaximum
    (isSmall ? large : small).remove(request)
    return (isSmall ? small : large).insert(entry, for: request)
  }
}
