/// Where an ``ImageClient`` has its thumbnails from. ``ClusterTransport`` asks the cluster of this
/// machine; ``InMemoryCluster`` serves tests, previews and examples.
///
/// A type implements ``loadImage(for:onUpdate:)`` at least. Every other requirement has a default
/// implementation, also those that later versions add.
public protocol ImageTransport: Sendable {
  /// A thumbnail that is at hand without waiting, such as a hit in the store. A transport that does not
  /// implement this has none.
  ///
  /// - Returns: `nil` if the request has to wait for ``loadImage(for:onUpdate:)``.
  func storedImage(for request: ImageRequest) throws(ImageError) -> LoadedImage?

  /// Loads a thumbnail. The cancellation of the task ends the load.
  ///
  /// - Parameters:
  ///   - request: its ``ImageRequest/delay`` and ``ImageRequest/timeout`` are the transport's to keep.
  ///   - onUpdate: is called in order, from any thread, and must not block. A last call may come while the
  ///     function returns. `nil` if nothing listens, so that no update has to be made.
  func loadImage(
    for request: ImageRequest, onUpdate: (@Sendable (ImageUpdate) -> Void)?
  ) async throws(ImageError) -> LoadedImage

  /// Decodes a thumbnail. A transport that does not implement this fails.
  ///
  /// - Parameter frame: of an animation, counted from 0.
  func pixels(of image: LoadedImage, frame: Int) async throws(ImageError) -> ImagePixels
}

extension ImageTransport {
  /// Finds nothing.
  public func storedImage(for request: ImageRequest) throws(ImageError) -> LoadedImage? { nil }

  /// Fails with ``ImageError/Code/unsupportedOperation``.
  public func pixels(
    of image: LoadedImage, frame: Int
  ) async throws(ImageError) -> ImagePixels {
    throw ImageError(
      code: .unsupportedOperation,
      message: "\(Self.self) decodes no images; use a transport that does")
  }
}

/// What is known of a picture before its thumbnail is there.
///
/// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
@nonexhaustive
public enum ImageUpdate: Hashable, Sendable {
  /// More of the picture has arrived.
  case progress(ImageProgress)
  /// What the picture looks like until now.
  case preview(ImagePreview)
}
