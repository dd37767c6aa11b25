import FoundationEssentials
import ImgClient
import ImgFacts
import ImgModel

/// What `imgctl info --json` prints for a picture: its facts, and how they were read.
struct FactsReport: Encodable {
  /// How facts came from a URL.
  enum Fetch {
    case stored(StoredRecord, isFromCache: Bool)
    case uncached(UncachedThumbnail)
  }

  let url: RequestedURL
  let record: FactsRecord
  /// ``FactsRecord/facts`` without what was not asked for.
  let facts: PictureFacts
  /// The media type that the origin or the name claims, if the picture is of another format.
  let declaredType: String?
  /// `nil` for a local picture.
  let fetch: Fetch?
  /// Whether no origin was asked, whatever it came from.
  private var isLocal = false
  /// The line's index in a list.
  var index: Int?

  /// The facts of a local picture.
  ///
  /// - Parameter path: `-` for standard input.
  init(_ record: FactsRecord, of url: RequestedURL, named path: String, showsPlace: Bool) {
    self.init(record, of: url, named: path, fetch: nil, showsPlace: showsPlace)
  }

  /// The facts of a URL.
  ///
  /// - Parameter json: a ``FactsRecord``.
  init(
    json: [UInt8], of url: RequestedURL, _ imageURL: ImageURL, fetch: Fetch, showsPlace: Bool
  ) throws {
    let record = try FactsRecord(json: json)
    let path = imageURL.isLocal ? "" : imageURL.text.prefix { $0 != "?" }
    self.init(
      record, of: url, named: String(path), fetch: fetch, showsPlace: showsPlace)
    isLocal = imageURL.isLocal
  }

  private init(
    _ record: FactsRecord, of url: RequestedURL, named path: String, fetch: Fetch?,
    showsPlace: Bool
  ) {
    self.url = url
    self.record = record
    self.fetch = fetch
    declaredType = DeclaredType(record.declaredType, path: path).contradicting(record.facts.format)
    var facts = record.facts
    if !showsPlace {
      facts.gps = nil
      facts.xmp?.packet = nil
    }
    self.facts = facts
  }

  /// Bytes of bodies that the origin sent for this request; `nil` for a local picture.
  var bytesFetched: Int64? {
    if isLocal { return nil }
    return switch fetch {
    case .stored(let stored, let isFromCache): isFromCache ? 0 : stored.sourceByteCount
    case .uncached(let made): made.sourceByteCount
    case nil: nil
    }
  }

  var isFromCache: Bool? {
    switch fetch {
    case .stored(_, let isFromCache): isFromCache
    case .uncached: false
    case nil: nil
    }
  }

  private enum CodingKeys: String, CodingKey {
    case index, status
    case declaredType = "declared_type"
    case pixelsFailure = "pixels_failure"
    case fileByteCount = "file_bytes"
    case bytesFetched = "bytes_fetched"
    case isFromCache = "from_cache"
    case storedAt = "stored_at"
    case expiresAt = "expires_at"
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(index, forKey: .index)
    try url.encode(to: encoder)
    try container.encode(record.status, forKey: .status)
    try container.encodeIfPresent(declaredType, forKey: .declaredType)
    try container.encodeIfPresent(record.byteCount, forKey: .fileByteCount)
    try container.encodeIfPresent(bytesFetched, forKey: .bytesFetched)
    try container.encodeIfPresent(isFromCache, forKey: .isFromCache)
    if case .stored(let stored, _) = fetch {
      try container.encode(stored.storedAt, forKey: .storedAt)
      try container.encode(stored.expiresAt, forKey: .expiresAt)
    }
    try facts.encode(to: encoder)
    try record.pixels?.encode(to: encoder)
    try container.encodeIfPresent(record.pixelsFailure, forKey: .pixelsFailure)
  }
}

extension FactsRecord {
  /// - Parameter json: as a worker writes it.
  init(json: [UInt8]) throws {
    self = try JSONDecoder().decode(FactsRecord.self, from: Data(json))
  }
}
