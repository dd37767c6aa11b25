public import FoundationEssentials

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
