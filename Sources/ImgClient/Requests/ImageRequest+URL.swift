public import FoundationEssentials

extension ImageRequest {
  /// A request for a variant of the picture at a URL of Foundation.
  public init(url: URL, variant: ImageVariant = .standard) {
    self.init(url: url.absoluteString, variant: variant)
  }

  /// A request for a thumbnail that fits a square box.
  ///
  /// - Parameter size: the side of the box in pixels.
  public init(url: URL, size: Int) {
    self.init(url: url.absoluteString, size: size)
  }
}
