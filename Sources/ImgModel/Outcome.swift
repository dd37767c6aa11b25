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

extension Outcome: Fielded {
  private enum Name: String, FieldValue {
    case done, failed, cancelled
  }

  package init(_ f: inout Fields, _ outcome: Self?) throws(FieldError) {
    if let outcome {
      try outcome.write(to: &f)
      self = outcome
      return
    }
    let byteCount: Int? = try f.optional("bytes_fetched", nil)
    let failure: Failure? = try f.optional("failure", nil)
    let isFromCache: Bool? = try f.optional("from_cache", nil)
    switch try f.field("outcome", nil as Name?) {
    case .done:
      guard let byteCount else { throw f.missing("bytes_fetched") }
      guard let isFromCache else { throw f.missing("from_cache") }
      self = .done(
        try f.field("thumbnail", nil), fromCache: isFromCache, bytesFetched: byteCount)
    case .failed:
      guard let failure else { throw f.missing("failure") }
      self = .failed(failure, bytesFetched: byteCount ?? 0)
    case .cancelled: self = .cancelled
    }
  }

  private func write(to f: inout Fields) throws(FieldError) {
    switch self {
    case .done(let thumbnail, let isFromCache, let byteCount):
      try f.field("bytes_fetched", byteCount)
      try f.field("from_cache", isFromCache)
      try f.field("outcome", Name.done)
      try f.field("thumbnail", thumbnail)
    case .failed(let failure, let byteCount):
      // Most failures have no body.
      try f.field("bytes_fetched", byteCount, default: 0)
      try f.field("failure", failure)
      try f.field("outcome", Name.failed)
    case .cancelled: try f.field("outcome", Name.cancelled)
    }
  }
}

/// The duration of each phase for one picture. A phase is `nil` if it did not happen, as on a reused
/// connection, or was not reached. After several attempts, the last one counts. Redirects are added
/// up.
package struct Timings: Hashable, Sendable, Fielded {
  /// The DNS look-up.
  package var dns: Duration?
  /// The TCP handshake.
  package var connect: Duration?
  package var tls: Duration?
  /// From the request to the first byte of the response.
  package var ttfb: Duration?
  /// From the first byte of the response to the last.
  package var download: Duration?
  package var decode: Duration?
  /// From the write request to the commit, which may be a group commit.
  package var store: Duration?

  package init() {}

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    connect = try f.optional("connect", value?.connect)
    decode = try f.optional("decode", value?.decode)
    dns = try f.optional("dns", value?.dns)
    download = try f.optional("download", value?.download)
    store = try f.optional("store", value?.store)
    tls = try f.optional("tls", value?.tls)
    ttfb = try f.optional("ttfb", value?.ttfb)
  }
}

/// The metadata of a thumbnail.
package struct Thumbnail: Hashable, Sendable, Fielded {
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

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    byteCount = try f.field("bytes", value?.byteCount)
    // Few are.
    isDamaged = try f.field("damaged", value?.isDamaged, default: false)
    format = try f.field("format", value?.format)
    height = try f.field("height", value?.height)
    width = try f.field("width", value?.width)
  }

  /// Whether it may answer a request. A damaged one answers only lenient requests.
  package func answers(isLenient: Bool) -> Bool { isLenient || !isDamaged }
}

/// The metadata of a thumbnail that is not in the store. A sealed memory file beside the message has
/// its bytes.
package struct UncachedThumbnail: Hashable, Sendable, Fielded {
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

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    decodePath = try f.field("decode_path", value?.decodePath)
    failure = try f.optional("failure", value?.failure)
    sourceByteCount = try f.field("source_bytes", value?.sourceByteCount)
    sourceFormat = try f.field("source_format", value?.sourceFormat)
    sourceHeight = try f.field("source_height", value?.sourceHeight)
    sourceWidth = try f.field("source_width", value?.sourceWidth)
    thumbHash = try f.optional("thumbhash", value?.thumbHash)
    thumbnail = try f.field("thumbnail", value?.thumbnail)
    timings = try f.optional("timings", value?.timings)
  }
}
