/// The final result of a URL. Every URL of a job has exactly one.
package enum Outcome: Hashable, Sendable {
  /// The thumbnail exists: in the store, or in an uncached result.
  /// - Parameters:
  ///   - fromCache: whether it was a cache hit.
  ///   - bytesFetched: bytes of the response bodies of all attempts; 0 for a cache hit.
  case done(Thumbnail, fromCache: Bool, bytesFetched: Int)
  /// - bytesFetched: bytes of the response bodies of all attempts.
  case failed(Failure, bytesFetched: Int = 0)
  case cancelled
}

extension Outcome {
  /// Sets the fetched bytes of a failure; returns any other outcome unchanged.
  package func fetched(_ byteCount: Int) -> Outcome {
    guard case .failed(let failure, _) = self else { return self }
    return .failed(failure, bytesFetched: byteCount)
  }
}

extension Outcome: Codable {
  private enum CodingKeys: String, CodingKey {
    case outcome, thumbnail, failure
    case fromCache = "from_cache"
    case bytesFetched = "bytes_fetched"
  }

  private enum Name: String, Codable {
    case done, failed, cancelled
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Name.self, forKey: .outcome) {
    case .done:
      self = .done(
        try container.decode(Thumbnail.self, forKey: .thumbnail),
        fromCache: try container.decode(Bool.self, forKey: .fromCache),
        bytesFetched: try container.decode(Int.self, forKey: .bytesFetched))
    case .failed:
      self = .failed(
        try container.decode(Failure.self, forKey: .failure),
        bytesFetched: try container.decodeIfPresent(Int.self, forKey: .bytesFetched) ?? 0)
    case .cancelled:
      self = .cancelled
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .done(let thumbnail, let fromCache, let bytesFetched):
      try container.encode(Name.done, forKey: .outcome)
      try container.encode(thumbnail, forKey: .thumbnail)
      try container.encode(fromCache, forKey: .fromCache)
      try container.encode(bytesFetched, forKey: .bytesFetched)
    case .failed(let failure, let bytesFetched):
      try container.encode(Name.failed, forKey: .outcome)
      try container.encode(failure, forKey: .failure)
      // Most failures have no body.
      if bytesFetched > 0 { try container.encode(bytesFetched, forKey: .bytesFetched) }
    case .cancelled:
      try container.encode(Name.cancelled, forKey: .outcome)
    }
  }
}

/// The duration of each phase for one picture. A phase is `nil` if it did not happen, as on a reused
/// connection, or was not reached. After several attempts, the last one counts. Redirects are added
/// up.
package struct Timings: Hashable, Sendable, Codable {
  /// The DNS look-up.
  @OptionalMilliseconds package var dns: Duration?
  /// The TCP handshake.
  @OptionalMilliseconds package var connect: Duration?
  @OptionalMilliseconds package var tls: Duration?
  /// From the request to the first byte of the response.
  @OptionalMilliseconds package var ttfb: Duration?
  /// From the first byte of the response to the last.
  @OptionalMilliseconds package var download: Duration?
  @OptionalMilliseconds package var decode: Duration?
  /// From the write request to the commit, which may be a group commit.
  @OptionalMilliseconds package var store: Duration?

  package init() {}
}

/// The metadata of a thumbnail.
package struct Thumbnail: Hashable, Sendable, Codable {
  package let format: ImageFormat
  /// The size in pixels.
  package let width: Int
  package let height: Int
  /// The size of the encoded thumbnail.
  package let byteCount: Int
  /// Whether it shows what a lenient decode could read of a damaged picture.
  package let isDamaged: Bool

  package init(
    format: ImageFormat, width: Int, height: Int, byteCount: Int, isDamaged: Bool = false
  ) {
    self.format = format
    self.width = width
    self.height = height
    self.byteCount = byteCount
    self.isDamaged = isDamaged
  }

  /// Whether it may answer a request. A damaged one answers only lenient requests.
  package func answers(isLenient: Bool) -> Bool { isLenient || !isDamaged }
}

extension Thumbnail {
  private enum CodingKeys: String, CodingKey {
    case format, width, height
    case byteCount = "bytes"
    case isDamaged = "damaged"
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      format: try container.decode(ImageFormat.self, forKey: .format),
      width: try container.decode(Int.self, forKey: .width),
      height: try container.decode(Int.self, forKey: .height),
      byteCount: try container.decode(Int.self, forKey: .byteCount),
      isDamaged: try container.decodeIfPresent(Bool.self, forKey: .isDamaged) ?? false)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(format, forKey: .format)
    try container.encode(width, forKey: .width)
    try container.encode(height, forKey: .height)
    try container.encode(byteCount, forKey: .byteCount)
    // Few are.
    if isDamaged { try container.encode(true, forKey: .isDamaged) }
  }
}

/// The metadata of a thumbnail that is not in the store. A sealed memory file beside the message has
/// its bytes.
package struct UncachedThumbnail: Hashable, Sendable, Codable {
  package let thumbnail: Thumbnail
  /// The format of the source picture.
  package let sourceFormat: ImageFormat
  package let sourceWidth: Int
  package let sourceHeight: Int
  package let decodePath: DecodePath
  /// `nil` if the picture was not decoded, but its facts were read.
  package let thumbHash: ThumbHash?
  /// The size of the response body.
  package let sourceByteCount: Int64
  /// Why the store failed to store it; `nil` if it was not meant to be stored.
  package let failure: Failure?
  package let timings: Timings?

  package init(
    thumbnail: Thumbnail, sourceFormat: ImageFormat, sourceWidth: Int, sourceHeight: Int,
    decodePath: DecodePath = .general, thumbHash: ThumbHash? = nil, sourceByteCount: Int64,
    failure: Failure?,
    timings: Timings? = nil
  ) {
    self.thumbnail = thumbnail
    self.sourceFormat = sourceFormat
    self.sourceWidth = sourceWidth
    self.sourceHeight = sourceHeight
    self.decodePath = decodePath
    self.thumbHash = thumbHash
    self.sourceByteCount = sourceByteCount
    self.failure = failure
    self.timings = timings
  }

  private enum CodingKeys: String, CodingKey {
    case thumbnail
    case sourceFormat = "source_format"
    case sourceWidth = "source_width"
    case sourceHeight = "source_height"
    case decodePath = "decode_path"
    case thumbHash = "thumbhash"
    case sourceByteCount = "source_bytes"
    case failure, timings
  }
}
