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

/// What a picture's header says.
package struct SourceFacts: Hashable, Sendable {
  package let format: ImageFormat
  /// Pixels of one frame as seen, that is after the orientation was obeyed.
  package let width: Int
  package let height: Int
  /// Frames of an animation, pages of a document; 1 of a plain picture.
  package let frames: Int

  package init(format: ImageFormat, width: Int, height: Int, frames: Int) {
    self.format = format
    self.width = width
    self.height = height
    self.frames = frames
  }
}
