public import FoundationEssentials
// The values of requests and results are those that all processes share. What is public there is a part
// of this library.
@_exported public import ImgFacts
@_exported public import ImgModel

/// Asks for thumbnails by URL, and watches how they load.
///
/// A thumbnail comes from the memory of this process, else from the store that all processes of the machine
/// share, else the cluster makes it. One client serves any number of tasks; what they ask for at the same
/// time shares one connection, and equal requests share one fetch.
///
/// ```swift
/// let client = try ImageClient()
/// let image = try await client.image(for: "https://example.org/a.jpg", size: 256)
/// ```
public final class ImageClient: Sendable {
  /// The images in the memory of this process; `nil` if there is no such cache.
  public let memoryCache: ImageMemoryCache?
  let transport: any ImageTransport
  /// What pictures in the memory of this process may take; `nil` if the transport does not limit it.
  package var memory: MemoryShare? { (transport as? any MemorySharingTransport)?.memory }

  /// The store that all processes of the machine share.
  public var cache: ImageCache { ImageCache(transport, memory: memoryCache) }

  /// Uses the cluster of this machine.
  ///
  /// - Throws: ``ImageError/Code/internal`` if the process has no descriptors or threads left,
  ///   ``ImageError/Code/invalidRequest`` for settings in the environment that make no sense. Whether the
  ///   cluster answers is known with the first load.
  public convenience init(_ configuration: ClusterConfiguration = .standard) throws(ImageError) {
    self.init(transport: try ClusterTransport(configuration))
  }

  /// Uses another source of thumbnails.
  ///
  /// - Parameter memoryCache: `nil` for none. Clients may share one. It keeps no more than the cluster permits, see
  ///   ``ImageMemoryCache/capacity``.
  public init(
    transport: any ImageTransport, memoryCache: ImageMemoryCache? = ImageMemoryCache()
  ) {
    self.transport = transport
    self.memoryCache = memoryCache
    if let memory { memoryCache?.join(memory) }
  }

  /// A thumbnail: from memory, from the store, or made by the cluster.
  ///
  /// Cancelling the task ends the load at once with ``ImageError/Code/cancelled``. The fetch ends if no other
  /// load waits for it.
  ///
  /// - Throws: why there is no thumbnail. ``ImageError/isRetryable`` says whether the same request may
  ///   succeed later.
  public func image(for request: ImageRequest) async throws(ImageError) -> LoadedImage {
    guard !Task.isCancelled else { throw .cancelled(request.url) }
    if let image = try cachedImage(for: request) { return image }
    return try await load(request, onUpdate: nil)
  }

  /// As ``image(for:)``, for a caller that has just found nothing with ``cachedImage(for:)``. A thumbnail of more
  /// bytes than the maximum has none, if it is stored and the transport can tell it without them.
  package func newImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) async throws(ImageError) -> LoadedImage {
    guard let bounded else { return try await load(request, onUpdate: nil) }
    return try await bounded.loadImage(for: request, bytesUpTo: maximumByteCount)
  }

  /// A thumbnail that is at hand: in memory or in the store. Does not wait for another process. A hit in
  /// the store is copied on the thread of the caller.
  ///
  /// - Returns: `nil` if it is not, or the request wants another answer than a hit.
  /// - Throws: what is wrong with the request, such as ``ImageError/Code/invalidURL``.
  public func cachedImage(for request: ImageRequest) throws(ImageError) -> LoadedImage? {
    if let image = memoryCache?.image(for: request) { return image }
    guard let image = try transport.storedImage(for: request) else { return nil }
    memoryCache?.insert(image, for: request)
    return image
  }

  /// As ``cachedImage(for:)``. A thumbnail of more bytes than the maximum has none, if the transport can tell it
  /// without them.
  package func cachedImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) throws(ImageError) -> LoadedImage? {
    guard let bounded else { return try cachedImage(for: request) }
    return try bounded.storedImage(for: request, bytesUpTo: maximumByteCount)
  }

  /// An image that one of the functions with a maximum has told without its bytes, with them. Is not counted as an
  /// access.
  ///
  /// - Returns: `nil` if it was removed from the store meanwhile.
  package func wholeImage(
    _ image: LoadedImage, for request: ImageRequest
  ) throws(ImageError) -> LoadedImage? {
    try bounded?.wholeImage(image, for: request)
  }

  /// `nil` if the transport cannot tell images without their bytes, or memory may have them.
  private var bounded: (any BoundedTransport)? {
    memoryCache == nil ? transport as? any BoundedTransport : nil
  }

  /// The phases of a load, for `for await`. The load begins when the first one is asked for.
  public func phases(for request: ImageRequest) -> ImagePhases {
    ImagePhases { [self] in startLoad(request) }
  }

  func startLoad(_ request: ImageRequest) -> PhaseLoad {
    do throws(ImageError) {
      if let image = try cachedImage(for: request) { return PhaseLoad(ended: .success(image)) }
    } catch {
      return PhaseLoad(ended: .failure(error))
    }
    return PhaseLoad { [self] onUpdate in
      do throws(ImageError) {
        return .success(try await load(request, onUpdate: onUpdate))
      } catch {
        return .failure(error)
      }
    }
  }

  /// Makes sure that a thumbnail is in the store.
  func prefetch(_ request: ImageRequest) async throws(ImageError) {
    guard try transport.storedImage(for: request) == nil else { return }
    _ = try await transport.loadImage(for: request, onUpdate: nil)
  }

  private func load(
    _ request: ImageRequest, onUpdate: (@Sendable (ImageUpdate) -> Void)?
  ) async throws(ImageError) -> LoadedImage {
    let image = try await transport.loadImage(for: request, onUpdate: onUpdate)
    memoryCache?.insert(image, for: request)
    return image
  }
}

/// Loads by the URL of a picture: its thumbnail fits a square box, with the other properties of
/// ``ImageVariant/standard``.
extension ImageClient {
  /// A thumbnail of the picture at a URL, see ``image(for:)``.
  ///
  /// - Parameter size: the side of the box in pixels.
  public func image(
    for url: String, size: Int = ImageVariant.standardSize
  ) async throws(ImageError) -> LoadedImage {
    try await image(for: ImageRequest(url: url, size: size))
  }

  /// A thumbnail of the picture at a URL of Foundation, see ``image(for:)``.
  ///
  /// - Parameter size: the side of the box in pixels.
  public func image(
    for url: URL, size: Int = ImageVariant.standardSize
  ) async throws(ImageError) -> LoadedImage {
    try await image(for: ImageRequest(url: url, size: size))
  }

  /// The phases of a load of the picture at a URL, see ``phases(for:)``.
  ///
  /// - Parameter size: the side of the box in pixels.
  public func phases(
    for url: String, size: Int = ImageVariant.standardSize
  ) -> ImagePhases {
    phases(for: ImageRequest(url: url, size: size))
  }

  /// The phases of a load of the picture at a URL of Foundation, see ``phases(for:)``.
  ///
  /// - Parameter size: the side of the box in pixels.
  public func phases(for url: URL, size: Int = ImageVariant.standardSize) -> ImagePhases {
    phases(for: ImageRequest(url: url, size: size))
  }

  /// The decoded pixels of a thumbnail of the picture at a URL, see ``pixels(for:)``.
  ///
  /// - Parameter size: the side of the box in pixels.
  public func pixels(
    for url: String, size: Int = ImageVariant.standardSize
  ) async throws(ImageError) -> ImagePixels {
    try await pixels(for: ImageRequest(url: url, size: size))
  }

  /// The decoded pixels of a thumbnail of the picture at a URL of Foundation, see ``pixels(for:)``.
  ///
  /// - Parameter size: the side of the box in pixels.
  public func pixels(
    for url: URL, size: Int = ImageVariant.standardSize
  ) async throws(ImageError) -> ImagePixels {
    try await pixels(for: ImageRequest(url: url, size: size))
  }
}

extension ImageClient {
  /// The facts of a picture: its size, its format, its frames and its metadata, without the place where it was taken.
  ///
  /// The store has them, or the cluster fetches as much of the picture as they need: mostly a few KiB. Of the request,
  /// what is about fetching and waiting counts. ``ImageRequest/CachePolicy/bypass`` counts as
  /// ``ImageRequest/CachePolicy/cacheElseLoad``, because facts are read from the store.
  ///
  /// - Throws: why there are none.
  public func facts(of request: ImageRequest) async throws(ImageError) -> PictureFacts {
    guard !Task.isCancelled else { throw .cancelled(request.url) }
    return try await transport.facts(of: request)
  }

  /// The decoded pixels of a thumbnail; of an animation, those of its first frame.
  ///
  /// This process decodes nothing: a sandboxed decoder of the cluster does. The pixels are kept in
  /// ``memoryCache`` as the thumbnail is, so that the next call has them at once. The request's
  /// ``ImageRequest/timeout`` is that of its load; the cluster limits the time of the decode.
  ///
  /// - Throws: what ``image(for:)`` throws, and what ``pixels(of:frame:)`` does.
  public func pixels(for request: ImageRequest) async throws(ImageError) -> ImagePixels {
    guard !Task.isCancelled else { throw .cancelled(request.url) }
    if let pixels = memoryCache?.pixels(for: request) { return pixels }
    let image = try await image(for: request)
    let pixels: ImagePixels
    do throws(ImageError) {
      pixels = try await self.pixels(of: image)
    } catch {
      throw error.about(request.url)
    }
    memoryCache?.insert(pixels, of: image, for: request)
    return pixels
  }

  /// The decoded pixels of a thumbnail that is at hand.
  ///
  /// They are not kept in ``memoryCache``. A sandboxed decoder of the cluster decodes the bytes, within
  /// the cluster's limits of time and size: with the standard limits, a thumbnail has at most 16 Mi
  /// pixels.
  ///
  /// - Parameter frame: of an animation, counted from 0.
  /// - Throws: ``ImageError/Code/corruptImage`` and ``ImageError/Code/notAnImage`` for bytes that are no
  ///   whole image, ``ImageError/Code/tooLarge`` for more pixels than the cluster permits,
  ///   ``ImageError/Code/frameOutOfRange`` for a frame that does not exist.
  public func pixels(
    of image: LoadedImage, frame: Int = 0
  ) async throws(ImageError) -> ImagePixels {
    guard !Task.isCancelled else { throw .cancelled(nil) }
    return try await transport.pixels(of: image, frame: frame)
  }
}
