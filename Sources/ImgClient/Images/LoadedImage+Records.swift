import FoundationEssentials
import ImgModel
import ImgStore

extension LoadedImage {
  /// A record of the store.
  init(_ stored: StoredThumbnail, bytes: [UInt8], origin: Origin) {
    self.init(
      bytes: bytes, type: ImageType(stored.thumbnail.format), width: stored.thumbnail.width,
      height: stored.thumbnail.height,
      source: Source(
        type: ImageType(stored.sourceFormat), width: stored.sourceWidth,
        height: stored.sourceHeight, byteCount: Int(stored.sourceByteCount)),
      thumbHash: stored.thumbHash.map { Array($0.bytes) }, storedAt: Date(stored.storedAt),
      expiresAt: Date(stored.expiresAt), isExpirySliding: stored.lifetime > .zero, origin: origin)
  }

  /// A thumbnail that was made and not stored.
  init(_ made: UncachedThumbnail, bytes: [UInt8]) {
    self.init(
      bytes: bytes, type: ImageType(made.thumbnail.format), width: made.thumbnail.width,
      height: made.thumbnail.height,
      source: Source(
        type: ImageType(made.sourceFormat), width: made.sourceWidth, height: made.sourceHeight,
        byteCount: Int(made.sourceByteCount)),
      thumbHash: made.thumbHash.map { Array($0.bytes) }, origin: .network)
  }
}
