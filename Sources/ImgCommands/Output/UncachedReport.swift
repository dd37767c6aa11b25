import ImgModel

/// What `imgctl get --json` prints for a thumbnail that is not in the store: the keys of
/// ``StoredReport``, except those that only a record has.
struct UncachedReport: Encodable {
  private let url: RequestedURL
  private let made: UncachedThumbnail

  private enum CodingKeys: String, CodingKey {
    case sourceFormat = "source_format"
    case sourceWidth = "source_width"
    case sourceHeight = "source_height"
    case decodePath = "decode_path"
    case thumbHash = "thumbhash"
    case sourceByteCount = "source_bytes"
    case isFromCache = "from_cache"
    case isStored = "stored"
    case reason = "not_stored_because"
    case timings
  }

  init(_ url: RequestedURL, _ made: UncachedThumbnail) {
    self.url = url
    self.made = made
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try url.encode(to: encoder)
    try container.encode(made.sourceFormat, forKey: .sourceFormat)
    try container.encode(made.sourceWidth, forKey: .sourceWidth)
    try container.encode(made.sourceHeight, forKey: .sourceHeight)
    try container.encode(made.decodePath, forKey: .decodePath)
    try container.encodeIfPresent(made.thumbHash, forKey: .thumbHash)
    try container.encode(made.sourceByteCount, forKey: .sourceByteCount)
    try container.encode(false, forKey: .isFromCache)
    try container.encode(false, forKey: .isStored)
    try container.encodeIfPresent(made.failure?.detail, forKey: .reason)
    try container.encodeIfPresent(made.timings, forKey: .timings)
    try made.thumbnail.encode(to: encoder)
  }
}
