extension ImageClient {
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
