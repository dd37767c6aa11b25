package import ImgModel

/// A request for one thumbnail. The client waits for it.
package struct GetRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let url: String
  /// The name of the view that shows the picture. A view shows one picture at a time: a later request
  /// with the same name, from any client, replaces this one, which then ends as cancelled. `nil` for
  /// a request that nothing replaces.
  package let viewer: String?
  package let options: RequestOptions
  /// Whether the worker skips the look-up and does not store the result.
  package let bypassesStore: Bool
  /// Whether the client wants previews while the picture arrives.
  package let wantsPreviews: Bool
  /// Whether the client wants to know how much of the picture has arrived.
  package let wantsProgress: Bool
  /// The request fails at once if the host is not asked for longer, because it wants that (Retry-After) or fails
  /// again and again; `nil` for one that waits as long as it takes.
  @OptionalMilliseconds package private(set) var maximumRetryAfter: Duration?

  package static let maximumViewerByteCount = 200

  package init(
    id: RequestID, url: String, viewer: String? = nil, options: RequestOptions,
    bypassesStore: Bool = false, wantsPreviews: Bool = false, wantsProgress: Bool = false,
    maximumRetryAfter: Duration? = nil
  ) {
    self.id = id
    self.url = url
    self.viewer = viewer
    self.options = options
    self.bypassesStore = bypassesStore
    self.wantsPreviews = wantsPreviews
    self.wantsProgress = wantsProgress
    self.maximumRetryAfter = maximumRetryAfter
  }

  private enum CodingKeys: String, CodingKey {
    case id, url, viewer, options
    case bypassesStore = "no_cache"
    case wantsPreviews = "incremental"
    case wantsProgress = "progress"
    case maximumRetryAfter = "max_retry_after_ms"
  }
}
