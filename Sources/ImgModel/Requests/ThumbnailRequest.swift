/// What a request asks to be made from a URL. Equal requests for one URL share one fetch, one decode
/// and one result.
package struct ThumbnailRequest: Hashable, Sendable, Codable {
  package let variant: Variant
  /// Further thumbnails of the picture, from the same fetch and the same decode. The result is that of
  /// ``variant``; it counts as done when all of them are.
  package let otherVariants: [Variant]
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

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      variant: try container.decode(Variant.self, forKey: .variant),
      otherVariants: try container.otherVariants(forKey: .otherVariants),
      isLenient: try container.decode(Bool.self, forKey: .isLenient),
      keep: try container.decode(Keep.self, forKey: .keep),
      fetch: try container.decode(FetchOptions.self, forKey: .fetch),
      bypassesStore: try container.decode(Bool.self, forKey: .bypassesStore))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(variant, forKey: .variant)
    try container.encode(otherVariants: otherVariants, forKey: .otherVariants)
    try container.encode(isLenient, forKey: .isLenient)
    try container.encode(keep, forKey: .keep)
    try container.encode(fetch, forKey: .fetch)
    try container.encode(bypassesStore, forKey: .bypassesStore)
  }
}
