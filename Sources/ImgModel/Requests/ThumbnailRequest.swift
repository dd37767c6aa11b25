/// What a request asks to be made from a URL. Equal requests for one URL share one fetch, one decode
/// and one result.
package struct ThumbnailRequest: Hashable, Sendable, Codable {
  package let variant: Variant
  /// Whether a damaged picture has a thumbnail, too, as far as the decoder can read it.
  package let isLenient: Bool
  package let keep: Keep
  package let fetch: FetchOptions
  /// Whether the worker skips the look-up and does not store the result.
  package let bypassesStore: Bool

  package init(
    variant: Variant, isLenient: Bool = false, keep: Keep = .thumbnail,
    fetch: FetchOptions = .standard, bypassesStore: Bool = false
  ) {
    self.variant = variant
    self.isLenient = isLenient
    self.keep = keep
    self.fetch = fetch
    self.bypassesStore = bypassesStore
  }

  private enum CodingKeys: String, CodingKey {
    case variant, keep, fetch
    case isLenient = "lenient"
    case bypassesStore = "no_cache"
  }
}
