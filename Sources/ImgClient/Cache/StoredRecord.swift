package import ImgModel
import ImgStore

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
