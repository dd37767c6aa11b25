import ImgModel

/// What tells images apart in memory.
struct MemoryKey: Hashable, Sendable {
  let url: String
  private let variant: ImageVariant
  private let headers: [ImageRequest.HeaderField]
  private let acceptsDamage: Bool
  private let version: String?

  init(_ request: ImageRequest) {
    url = request.url
    variant = request.variant
    headers = request.headers
    acceptsDamage = request.acceptsDamage
    version = request.version
  }

  /// Whether the image is one of a URL, in whatever spelling.
  func isOf(_ other: ImageURL) -> Bool {
    url == other.text || (try? ImageURL(line: url))?.text == other.text
  }

  /// What a cache needs for the key, in bytes.
  var byteCount: Int {
    headers.reduce(url.utf8.count + (version?.utf8.count ?? 0)) {
      $0 + $1.name.utf8.count + $1.value.utf8.count
    }
  }
}

extension ImageRequest {
  /// Whether memory may answer. It cannot ask the origin, and cannot extend an expiry in the store.
  var takesHitsFromMemory: Bool {
    [.cacheElseLoad, .cacheOnly].contains(cachePolicy) && delay == .zero && expiry == .standard
  }
}
