/// A transport that tells what it has stored without a copy of the bytes.
package protocol BoundedTransport: ImageTransport {
  /// As ``ImageTransport/storedImage(for:)``. A thumbnail of more bytes than the maximum has none.
  func storedImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) throws(ImageError) -> LoadedImage?

  /// As ``ImageTransport/loadImage(for:onUpdate:)``, without updates. A thumbnail of more bytes than the maximum
  /// has none if it is stored.
  func loadImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) async throws(ImageError) -> LoadedImage

  /// An image that was stored or loaded without its bytes, with them. Is not counted as an access, and is there
  /// although it has expired since.
  ///
  /// - Returns: `nil` if it was removed from the store.
  func wholeImage(
    _ image: LoadedImage, for request: ImageRequest
  ) throws(ImageError) -> LoadedImage?
}

extension InMemoryCluster: BoundedTransport {
  package func storedImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) throws(ImageError) -> LoadedImage? {
    try storedImage(for: request).map { $0.bytesUpTo(maximumByteCount) }
  }

  package func loadImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) async throws(ImageError) -> LoadedImage {
    let image = try await loadImage(for: request, onUpdate: nil)
    return image.storedAt == nil ? image : image.bytesUpTo(maximumByteCount)
  }

  package func wholeImage(
    _ image: LoadedImage, for request: ImageRequest
  ) throws(ImageError) -> LoadedImage? {
    withStore { $0.image(storedAs: MemoryKey(request)) }?.from(image.origin)
  }
}

extension LoadedImage {
  fileprivate func bytesUpTo(_ maximumByteCount: Int) -> LoadedImage {
    guard bytes.count > maximumByteCount else { return self }
    return LoadedImage(
      bytes: [], type: type, width: width, height: height, source: source, thumbHash: thumbHash,
      storedAt: storedAt, expiresAt: expiresAt, isExpirySliding: isExpirySliding, origin: origin)
  }
}
