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

  /// Bytes of the response bodies of all attempts.
  package var fetchedByteCount: Int {
    switch self {
    case .done(_, _, let byteCount), .failed(_, let byteCount): byteCount
    case .cancelled: 0
    }
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

@_spi(Coding) extension Thumbnail: Fielded {
  /// The members of its JSON object.
  public init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    byteCount = try f.field("bytes", value?.byteCount)
    // Few are.
    isDamaged = try f.field("damaged", value?.isDamaged, default: false)
    format = try f.field("format", value?.format)
    height = try f.field("height", value?.height)
    width = try f.field("width", value?.width)
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
extension UncachedThumbnail: Fielded {
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    source = try SourcePicture(&f, value?.source)
    failure = try f.optional("failure", value?.failure)
    thumbnail = try f.field("thumbnail", value?.thumbnail)
    timings = try f.optional("timings", value?.timings)
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
public struct ImageProgress: Hashable, Sendable {
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
}

@_spi(Coding) extension ImageProgress: Fielded {
  /// The members of its JSON object.
  public init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    expectedByteCount = try f.optional("expected", value?.expectedByteCount)
    receivedByteCount = try f.field("received", value?.receivedByteCount)
  }
}
