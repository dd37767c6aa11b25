/// What a request asks to be made from a URL. Equal requests for one URL share one fetch, one decode
/// and one result.
package struct ThumbnailRequest: Hashable, Sendable, Codable {
  package let variant: Variant
  /// Further thumbnails of the picture, from the same fetch and the same decode. The result is that of
  /// ``variant``; it counts as done when all of them are.
  @OtherVariants package private(set) var otherVariants: [Variant]
  /// Whether a damaged picture has a thumbnail, too, as far as the decoder can read it.
  package let isLenient: Bool
  package let keep: Keep
  package let fetch: FetchOptions
  /// Whether the worker skips the look-up and does not store the result.
  package let bypassesStore: Bool

  package init(
    variant: Variant, otherVariants: [Variant] = [], isLenient: Bool = false,
    keep: Keep = .thumbnail, fetch: FetchOptions = .standard, bypassesStore: Bool = false
  ) {
    self.variant = variant
    self.otherVariants = otherVariants
    self.isLenient = isLenient
    self.keep = keep
    self.fetch = fetch
    self.bypassesStore = bypassesStore
  }

  /// ``variant`` first.
  package var variants: [Variant] { [variant] + otherVariants }

  private enum CodingKeys: String, CodingKey {
    case variant, keep, fetch
    case otherVariants = "other_variants"
    case isLenient = "lenient"
    case bypassesStore = "no_cache"
  }
}
