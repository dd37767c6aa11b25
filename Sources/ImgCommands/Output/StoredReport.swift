import ImgClient
import ImgModel

/// What `--json` prints for a stored thumbnail or original.
struct StoredReport: Encodable {
  private let key: String
  private let kind: String
  private let url: RequestedURL
  private let thumbnail: Thumbnail
  private let sourceFormat: ImageFormat
  private let sourceWidth: Int
  private let sourceHeight: Int
  private let decodePath: DecodePath?
  private let thumbHash: ThumbHash?
  private let sourceByteCount: Int64
  private let storedAt: WallTime
  private let expiresAt: WallTime
  @OptionalMilliseconds private var lifetime: Duration?
  private let isFromCache: Bool?
  private let timings: Timings?

  private enum CodingKeys: String, CodingKey {
    case key, kind
    case sourceFormat = "source_format"
    case sourceWidth = "source_width"
    case sourceHeight = "source_height"
    case decodePath = "decode_path"
    case thumbHash = "thumbhash"
    case sourceByteCount = "source_bytes"
    case storedAt = "stored_at"
    case expiresAt = "expires_at"
    case lifetime = "lifetime_ms"
    case isFromCache = "from_cache"
    case isStored = "stored"
    case timings
  }

  /// - Parameters:
  ///   - url: the URL as requested; `nil` in a list, which uses the name of the record.
  ///   - isFromCache: whether the store had it before the request; `nil` without a request.
  init(
    _ record: StoredRecord, of url: RequestedURL? = nil, isFromCache: Bool? = nil,
    timings: Timings? = nil
  ) {
    key = record.key
    kind = record.kind.rawValue
    self.url = url ?? RequestedURL(verbatim: record.name)
    thumbnail = record.thumbnail
    sourceFormat = record.sourceFormat
    sourceWidth = record.sourceWidth
    sourceHeight = record.sourceHeight
    decodePath = record.decodePath
    thumbHash = record.thumbHash
    sourceByteCount = record.sourceByteCount
    storedAt = record.storedAt
    expiresAt = record.expiresAt
    lifetime = record.lifetime > .zero ? record.lifetime : nil
    self.isFromCache = isFromCache
    self.timings = timings
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(key, forKey: .key)
    try container.encode(kind, forKey: .kind)
    try url.encode(to: encoder)
    try container.encode(sourceFormat, forKey: .sourceFormat)
    try container.encode(sourceWidth, forKey: .sourceWidth)
    try container.encode(sourceHeight, forKey: .sourceHeight)
    try container.encodeIfPresent(decodePath, forKey: .decodePath)
    try container.encodeIfPresent(thumbHash, forKey: .thumbHash)
    try container.encode(sourceByteCount, forKey: .sourceByteCount)
    try container.encode(storedAt, forKey: .storedAt)
    try container.encode(expiresAt, forKey: .expiresAt)
    try container.encode(_lifetime, forKey: .lifetime)
    if let isFromCache {
      try container.encode(isFromCache, forKey: .isFromCache)
      // `false` is for UncachedReport.
      try container.encode(true, forKey: .isStored)
    }
    try container.encodeIfPresent(timings, forKey: .timings)
    try thumbnail.encode(to: encoder)
  }
}
