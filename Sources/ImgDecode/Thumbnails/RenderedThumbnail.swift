package import ImgModel

/// A thumbnail and its bytes.
package struct EncodedThumbnail: Hashable, Sendable {
  package let thumbnail: Thumbnail
  package let bytes: [UInt8]

  package init(thumbnail: Thumbnail, bytes: [UInt8]) {
    self.thumbnail = thumbnail
    self.bytes = bytes
  }
}

/// What a decode gives: the encoded thumbnails and what was learnt of their source.
package struct RenderedThumbnails: Hashable, Sendable {
  /// In the order of the variants.
  package let thumbnails: [EncodedThumbnail]
  package let source: SourceFacts
  /// Of the whole picture that the thumbnails show, or of the first frame of an animation.
  package let thumbHash: ThumbHash
}

/// What a decode for one variant gives.
package struct RenderedThumbnail: Hashable, Sendable {
  package let thumbnail: Thumbnail
  package let bytes: [UInt8]
  package let source: SourceFacts
  package let thumbHash: ThumbHash
}
