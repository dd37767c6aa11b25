package import ImgModel

/// A preview of a picture whose body is arriving.
package struct MadePreview: Hashable, Sendable, Codable {
  /// The lease that the picture is fetched for. It goes on.
  package let lease: LeaseID
  package let thumbnail: Thumbnail
  /// The first bytes of the body that it shows.
  package let shownByteCount: Int

  package init(lease: LeaseID, thumbnail: Thumbnail, shownByteCount: Int) {
    self.lease = lease
    self.thumbnail = thumbnail
    self.shownByteCount = shownByteCount
  }

  private enum CodingKeys: String, CodingKey {
    case lease, thumbnail
    case shownByteCount = "shown_bytes"
  }
}
