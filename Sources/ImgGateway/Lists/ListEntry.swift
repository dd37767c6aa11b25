import FoundationEssentials
package import ImgClient
package import ImgModel

/// A picture in a list: a line of a job, or a thumbnail of the store. In JSON it has the keys of Picsum, and
/// more.
package struct ListEntry: Hashable, Sendable, Encodable {
  /// How far the thumbnail is.
  package enum State: String, Hashable, Sendable, Encodable {
    case done, failed, cancelled, waiting
  }

  /// A thumbnail as a list describes it.
  package struct Thumbnail: Hashable, Sendable {
    package let type: ImageType
    /// In pixels.
    package let width: Int
    /// In pixels.
    package let height: Int
    package let byteCount: Int
    /// Whether the store had it when the job asked for it. A record of the store is from there.
    package let isFromCache: Bool
  }

  package let id: PictureID
  /// As the list has it; a line may be no URL.
  package let url: String
  package let state: State
  /// Only of a picture that is done.
  package var thumbnail: Thumbnail?
  /// Only of a picture that has failed.
  package var error: ImageError?
  package var thumbHash: [UInt8]?
  package var storedAt: WallTime?
  package var expiresAt: WallTime?

  init(_ id: PictureID, url: String, state: State) {
    self.id = id
    self.url = url
    self.state = state
  }

  /// The host of the URL, in the place of the photographer; empty for a local picture and for no URL.
  package var author: String {
    // A line that is no URL has failed, and its error says so.
    guard let url = try? ImageURL(line: url), !url.isLocal else { return "" }
    return url.host
  }

  private enum Key: String, CodingKey {
    case id, author, width, height, url, state, code, message, retryable, type
    case downloadURL = "download_url"
    case thumbHash = "thumb_hash"
    case httpStatus = "http_status"
    case byteCount = "byte_count"
    case fromCache = "from_cache"
    case storedAt = "stored_at"
    case expiresAt = "expires_at"
  }

  /// Writes all keys; what is not known is `null`, except for sides, which are 0.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(id.description, forKey: .id)
    try container.encode(author, forKey: .author)
    try container.encode(thumbnail?.width ?? 0, forKey: .width)
    try container.encode(thumbnail?.height ?? 0, forKey: .height)
    try container.encode(url.withoutPasswords, forKey: .url)
    try container.encode("/id/\(id)", forKey: .downloadURL)
    try container.encode(thumbHash.map { Data($0).base64EncodedString() }, forKey: .thumbHash)
    try container.encode(state, forKey: .state)
    try container.encode(error?.code.rawValue, forKey: .code)
    try container.encode(error?.message.withoutPasswords, forKey: .message)
    try container.encode(error?.isRetryable, forKey: .retryable)
    try container.encode(error?.httpStatus, forKey: .httpStatus)
    try container.encode(thumbnail?.type.mediaType, forKey: .type)
    try container.encode(thumbnail?.byteCount, forKey: .byteCount)
    try container.encode(thumbnail?.isFromCache, forKey: .fromCache)
    try container.encode(storedAt, forKey: .storedAt)
    try container.encode(expiresAt, forKey: .expiresAt)
  }
}

extension ListEntry {
  /// A line of a job.
  init(_ result: ImageJobResult, of job: ImageJob.ID) {
    let state: State =
      switch result.outcome {
      case .done: .done
      case .failed: .failed
      case .cancelled: .cancelled
      case nil: .waiting
      }
    self.init(.line(job: job, index: result.index), url: result.url, state: state)
    error = result.error
    guard case .done(let made) = result.outcome else { return }
    thumbnail = Thumbnail(
      type: made.type, width: made.width, height: made.height, byteCount: made.byteCount,
      isFromCache: made.isFromCache)
  }

  /// A thumbnail of the store.
  init(_ record: CacheRecord) {
    self.init(.record(record.id), url: record.url, state: .done)
    thumbnail = Thumbnail(
      type: record.type, width: record.width, height: record.height, byteCount: record.byteCount,
      isFromCache: true)
    thumbHash = record.thumbHash
    storedAt = WallTime(record.storedAt)
    expiresAt = WallTime(record.expiresAt)
  }
}
