package import ImgModel

/// What a picture looks like before all of it has arrived.
package struct PicturePreview: Sendable {
  /// Counts the previews of the request from 1.
  package let number: Int
  package let thumbnail: Thumbnail
  package let bytes: [UInt8]

  package init(number: Int, thumbnail: Thumbnail, bytes: [UInt8]) {
    self.number = number
    self.thumbnail = thumbnail
    self.bytes = bytes
  }
}
