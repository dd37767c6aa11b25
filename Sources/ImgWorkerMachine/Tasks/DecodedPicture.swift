package import ImgModel

/// What came of a decode.
package enum DecodeEnd: Hashable, Sendable {
  /// The driver holds the bytes of the thumbnail while this event is handled.
  case picture(DecodedPicture)
  case failed(Failure)
  /// It was cancelled before its turn.
  case cancelled
  /// The original is no longer in the store, or is not an image.
  case sourceMissing
}

/// What is known of thumbnails and of the picture that they were made from.
package struct DecodedPicture: Hashable, Sendable {
  /// The one that is reported.
  package let thumbnail: Thumbnail
  /// Those of the request's other variants, in their order.
  package let otherThumbnails: [Thumbnail]
  package let source: SourceFacts
  /// `nil` if the picture was not decoded, but its facts were read.
  package let thumbHash: ThumbHash?
  /// The original of the store, if it was made from that.
  package let original: OriginalFacts?
  /// Bytes of the picture, if they were read from a file or from the URL.
  package let localByteCount: Int?

  package init(
    thumbnail: Thumbnail, otherThumbnails: [Thumbnail] = [], source: SourceFacts,
    thumbHash: ThumbHash? = nil, original: OriginalFacts? = nil, localByteCount: Int? = nil
  ) {
    self.thumbnail = thumbnail
    self.otherThumbnails = otherThumbnails
    self.source = source
    self.thumbHash = thumbHash
    self.original = original
    self.localByteCount = localByteCount
  }
}

/// What is known of an original in the store.
package struct OriginalFacts: Hashable, Sendable {
  package let picture: Thumbnail
  /// Bytes of bodies that the origin sent for it.
  package let sourceByteCount: Int64
  package let storedAt: WallTime
  package let expiresAt: WallTime
  package let terms: ReuseTerms

  package init(
    picture: Thumbnail, sourceByteCount: Int64, storedAt: WallTime, expiresAt: WallTime,
    terms: ReuseTerms
  ) {
    self.picture = picture
    self.sourceByteCount = sourceByteCount
    self.storedAt = storedAt
    self.expiresAt = expiresAt
    self.terms = terms
  }
}
