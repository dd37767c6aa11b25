/// What a picture's header says, and what follows from it.
package struct SourceFacts: Hashable, Sendable, Codable {
  package let format: ImageFormat
  /// Pixels of one frame as seen, that is after the orientation was obeyed.
  package let width: Int
  package let height: Int
  /// Frames of an animation, pages of a document; 1 of a plain picture.
  package let frames: Int
  package let decodePath: DecodePath

  package init(
    format: ImageFormat, width: Int, height: Int, frames: Int, decodePath: DecodePath = .general
  ) {
    self.format = format
    self.width = width
    self.height = height
    self.frames = frames
    self.decodePath = decodePath
  }
}
