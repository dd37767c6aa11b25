package import ImgModel

/// What a decode gives: the encoded thumbnail and what was learnt of its source.
package struct RenderedThumbnail: Hashable, Sendable {
  package let thumbnail: Thumbnail
  package let bytes: [UInt8]
  package let source: SourceFacts

  package init(thumbnail: Thumbnail, bytes: [UInt8], source: SourceFacts) {
    self.thumbnail = thumbnail
    self.bytes = bytes
    self.source = source
  }
}
