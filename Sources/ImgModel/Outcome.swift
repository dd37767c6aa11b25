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

/// The facts of a thumbnail.
public struct Thumbnail: Hashable, Sendable {
  /// Its encoding.
  public let format: ImageFormat
  /// Its width in pixels, upright.
  public let width: Int
  /// Its height in pixels, upright.
  public let height: Int
  /// The size of the encoded thumbnail in bytes.
  public let byteCount: Int
  /// Whether it shows what a lenient decode could read of a damaged picture.
  public let isDamaged: Bool

  /// The facts of a thumbnail.
  public init(
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

extension Thumbnail: Codable {
  private enum CodingKeys: String, CodingKey {
    case format, width, height
    case byteCount = "bytes"
    case isDamaged = "damaged"
  }

  /// Reads the members that ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      format: try container.decode(ImageFormat.self, forKey: .format),
      width: try container.decode(Int.self, forKey: .width),
      height: try container.decode(Int.self, forKey: .height),
      byteCount: try container.decode(Int.self, forKey: .byteCount),
      isDamaged: try container.decodeIfPresent(Bool.self, forKey: .isDamaged) ?? false)
  }

  /// Writes the members of JSON that describe a thumbnail.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(format, forKey: .format)
    try container.encode(width, forKey: .width)
    try container.encode(height, forKey: .height)
    try container.encode(byteCount, forKey: .byteCount)
    // Few are.
    if isDamaged { try container.encode(true, forKey: .isDamaged) }
  }
}

/// A thumbnail that is not in the store. A sealed memory file beside the message has its bytes.
package struct UncachedThumbnail: Hashable, Sendable {
  package let thumbnail: Thumbnail
  package let source: SourcePicture
  /// Why the store failed to store it; `nil` if it was not meant to be stored.
  package let failure: Failure?
  package let timings: Timings?

  package init(
    thumbnail: Thumbnail, source: SourcePicture, failure: Failure?, timings: Timings? = nil
  ) {
    self.thumbnail = thumbnail
    self.source = source
    self.failure = failure
    self.timings = timings
  }
}

// The members of the source are beside the thumbnail.
extension UncachedThumbnail: Codable {
  private enum CodingKeys: String, CodingKey {
    case thumbnail, failure, timings
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      thumbnail: try container.decode(Thumbnail.self, forKey: .thumbnail),
      source: try SourcePicture(from: decoder),
      failure: try container.decodeIfPresent(Failure.self, forKey: .failure),
      timings: try container.decodeIfPresent(Timings.self, forKey: .timings))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(thumbnail, forKey: .thumbnail)
    try source.encode(to: encoder)
    try container.encodeIfPresent(failure, forKey: .failure)
    try container.encodeIfPresent(timings, forKey: .timings)
  }
}

/// What a picture looks like before all of it has arrived. It has the size of the thumbnail.
public struct ImagePreview: Hashable, Sendable {
  /// Counts the previews of a request from 1. Each is nearer to the thumbnail than the one before.
  public let number: Int
  /// The encoded preview.
  public let bytes: [UInt8]
  package let thumbnail: Thumbnail

  package init(number: Int, thumbnail: Thumbnail, bytes: [UInt8]) {
    self.number = number
    self.thumbnail = thumbnail
    self.bytes = bytes
  }

  /// A preview, such as one for a test.
  public init(number: Int, bytes: [UInt8], format: ImageFormat, width: Int, height: Int) {
    self.init(
      number: number,
      thumbnail: Thumbnail(format: format, width: width, height: height, byteCount: bytes.count),
      bytes: bytes)
  }

  /// Its encoding.
  public var format: ImageFormat { thumbnail.format }
  /// Its width in pixels.
  public var width: Int { thumbnail.width }
  /// Its height in pixels.
  public var height: Int { thumbnail.height }
}

extension ImagePreview: Encodable {
  /// Writes its number and what describes it, without its bytes.
  public func encode(to encoder: any Encoder) throws {
    try JSONObject(["preview": number], beside: thumbnail).encode(to: encoder)
  }
}

/// How much of a picture has arrived.
public struct ImageProgress: Hashable, Sendable, Codable {
  /// Bytes of the picture that have arrived, at least 1. Of a resumed download, with those that were there
  /// before.
  public let receivedByteCount: Int
  /// Bytes of the whole picture; `nil` if the origin does not say.
  public let expectedByteCount: Int?

  /// A progress, such as one for a test.
  public init(receivedByteCount: Int, expectedByteCount: Int? = nil) {
    self.receivedByteCount = receivedByteCount
    self.expectedByteCount = expectedByteCount
  }

  /// From 0 to 1; `nil` if the length is unknown, or what the origin said of it was wrong.
  public var fraction: Double? {
    guard let expectedByteCount, expectedByteCount > 0, receivedByteCount <= expectedByteCount
    else { return nil }
    return Double(receivedByteCount) / Double(expectedByteCount)
  }

  private enum CodingKeys: String, CodingKey {
    case receivedByteCount = "received"
    case expectedByteCount = "expected"
  }
}
