public import FoundationEssentials
package import ImgModel
import ImgStore

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

/// The facts of a record of the store, without its content. The record is a thumbnail, an original as
/// received, or the facts of a picture as JSON.
package struct StoredRecord: Hashable, Sendable {
  let stored: StoredThumbnail

  init(_ stored: StoredThumbnail) {
    self.stored = stored
  }

  /// Identifies the record: 64 hexadecimal digits.
  package var key: String { stored.key.description }
  package var kind: CacheRecord.Kind {
    stored.isOriginal ? .original : stored.isFacts ? .facts : .thumbnail
  }
  /// The name of the picture: its URL or cache key, with a hash of the header fields that selected it.
  package var name: String { stored.url }
  /// The URL or the cache key of the picture.
  package var url: String { PictureName.text(ofRecord: stored.url) }
  /// The thumbnail; of facts, the picture and the length of the facts.
  package var thumbnail: Thumbnail { stored.thumbnail }
  package var sourceFormat: ImageFormat { stored.sourceFormat }
  package var sourceWidth: Int { stored.sourceWidth }
  package var sourceHeight: Int { stored.sourceHeight }
  /// The length of the body that the origin sent.
  package var sourceByteCount: Int64 { stored.sourceByteCount }
  /// `nil` for what was not decoded: originals and facts.
  package var decodePath: DecodePath? { kind == .thumbnail ? stored.decodePath : nil }
  /// Of the picture that a thumbnail was made from; `nil` for any other record.
  package var thumbHash: ThumbHash? { stored.thumbHash }
  package var storedAt: WallTime { stored.storedAt }
  /// The record is not served from this time on.
  package var expiresAt: WallTime { stored.expiresAt }
  /// How long the record is kept after each access; 0 if accesses do not change the expiry.
  package var lifetime: Duration { stored.lifetime }
}

/// A record of the store with its content.
package struct StoredResult: Hashable, Sendable {
  package let record: StoredRecord
  /// The encoded picture, or the facts as JSON.
  package let bytes: [UInt8]

  init(_ found: (facts: StoredThumbnail, bytes: [UInt8])) {
    record = StoredRecord(found.facts)
    bytes = found.bytes
  }
}
