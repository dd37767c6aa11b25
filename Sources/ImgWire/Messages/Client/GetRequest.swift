package import ImgModel

/// One picture for somebody who waits.
package struct GetRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let url: String
  /// Names the place where the picture is to be shown: it shows one picture at a time, so that a
  /// later request of the same name, from any client, takes the place of this one, which then ends
  /// as cancelled. `nil` for a request that stands by itself.
  package let viewer: String?
  package let options: RequestOptions
  /// Whether the picture is fetched whatever the store has, and not stored.
  package let bypassesStore: Bool

  package static let maximumViewerByteCount = 200

  package init(
    id: RequestID, url: String, viewer: String? = nil, options: RequestOptions,
    bypassesStore: Bool = false
  ) {
    self.id = id
    self.url = url
    self.viewer = viewer
    self.options = options
    self.bypassesStore = bypassesStore
  }

  private enum CodingKeys: String, CodingKey {
    case id, url, viewer, options
    case bypassesStore = "no_cache"
  }
}
