package import ImgModel

/// A preview of the picture that a `get` waits for.
package struct PreviewReply: Hashable, Sendable, Codable {
  package let id: RequestID
  /// Counts the previews of the request from 1.
  package let number: Int
  package let thumbnail: Thumbnail

  package init(id: RequestID, number: Int, thumbnail: Thumbnail) {
    self.id = id
    self.number = number
    self.thumbnail = thumbnail
  }
}
