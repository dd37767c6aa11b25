/// A transport that tells what it has stored without a copy of the bytes.
package protocol BoundedTransport: ImageTransport {
  /// As ``ImageTransport/storedImage(for:)``. A thumbnail of more bytes than the maximum has none.
  func storedImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) throws(ImageError) -> LoadedImage?
}

extension InMemoryCluster: BoundedTransport {
  package func storedImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) throws(ImageError) -> LoadedImage? {
    guard let image = try storedImage(for: request) else { return nil }
    return image.bytes.count <= maximumByteCount ? image : image.withoutBytes
  }
}

extension LoadedImage {
  fileprivate var withoutBytes: LoadedImage {
    LoadedImage(
      bytes: [], type: type, width: width, height: height, source: source, thumbHash: thumbHash,
      storedAt: storedAt, expiresAt: expiresAt, isExpirySliding: isExpirySliding, origin: origin)
  }
}
