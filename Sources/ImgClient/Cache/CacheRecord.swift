public import FoundationEssentials
import ImgModel

/// The facts of a record of the store, without its content.
public struct CacheRecord: Hashable, Sendable, Identifiable {
  /// What a record contains.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A thumbnail.
    case thumbnail
    /// A picture as its origin sent it.
    case original
    /// The facts of a picture, as `imgctl info` prints them.
    case facts
  }

  /// Tells the record from all others.
  public let id: String
  /// The URL of the picture, as the cluster normalizes it, or the key that a command has named it with.
  public let url: String
  /// What the record contains.
  public let kind: Kind
  /// The encoding of the thumbnail or the original; of facts, that of the picture.
  public let type: ImageType
  /// The width in pixels.
  public let width: Int
  /// The height in pixels.
  public let height: Int
  /// The size of what the record contains, in bytes.
  public let byteCount: Int
  /// The ThumbHash of the picture that a thumbnail was made from, see ``LoadedImage/thumbHash``; `nil` for
  /// other records, and if the cluster could not make one.
  public let thumbHash: [UInt8]?
  /// When it was stored.
  public let storedAt: Date
  /// The record is not served from this time on.
  public let expiresAt: Date

  /// A record, such as that of another transport.
  public init(
    id: String, url: String, kind: Kind, type: ImageType, width: Int, height: Int, byteCount: Int,
    thumbHash: [UInt8]? = nil, storedAt: Date, expiresAt: Date
  ) {
    self.id = id
    self.url = url
    self.kind = kind
    self.type = type
    self.width = width
    self.height = height
    self.byteCount = byteCount
    self.thumbHash = thumbHash
    self.storedAt = storedAt
    self.expiresAt = expiresAt
  }

  init(_ record: StoredRecord) {
    self.init(
      id: record.key, url: record.url, kind: record.kind, type: ImageType(record.thumbnail.format),
      width: record.thumbnail.width, height: record.thumbnail.height,
      byteCount: record.thumbnail.byteCount, thumbHash: record.thumbHash.map { Array($0.bytes) },
      storedAt: Date(record.storedAt), expiresAt: Date(record.expiresAt))
  }
}
