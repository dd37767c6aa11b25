package import ImgModel

/// A preview of a picture whose body is arriving.
package struct MadePreview: Hashable, Sendable, Codable {
  /// The lease that the picture is fetched for. It goes on.
  package let lease: LeaseID
  package let thumbnail: Thumbnail

  package init(lease: LeaseID, thumbnail: Thumbnail) {
    self.lease = lease
    self.thumbnail = thumbnail
  }
}
