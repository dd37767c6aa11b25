/// What is made of a URL: requests for one URL that are equal in this share one fetch, one decode
/// and one result.
package struct ThumbnailRequest: Hashable, Sendable, Codable {
  package let variant: Variant
  package let keep: Keep
  package let fetch: FetchOptions
  /// Whether the URL is fetched without a look-up and the result is not stored.
  package let bypassesStore: Bool

  package init(
    variant: Variant, keep: Keep = .thumbnail, fetch: FetchOptions = .standard,
    bypassesStore: Bool = false
  ) {
    self.variant = variant
    self.keep = keep
    self.fetch = fetch
    self.bypassesStore = bypassesStore
  }

  private enum CodingKeys: String, CodingKey {
    case variant, keep, fetch
    case bypassesStore = "no_cache"
  }
}
