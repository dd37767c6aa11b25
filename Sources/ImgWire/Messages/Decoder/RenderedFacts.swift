package import ImgModel

/// The thumbnail at the start of the output memory's thumbnail area, and its source.
package struct RenderedFacts: Hashable, Sendable, Codable {
  package let thumbnail: Thumbnail
  package let source: SourceFacts

  package init(thumbnail: Thumbnail, source: SourceFacts) {
    self.thumbnail = thumbnail
    self.source = source
  }
}
