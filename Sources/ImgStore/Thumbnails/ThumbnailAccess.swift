package import ImgModel

/// An access to a thumbnail in the store that may have it kept for longer, see
/// ``StoredThumbnail/extended(by:at:)``.
package struct ThumbnailAccess: Sendable {
  let key: ContentKey
  /// What who accesses it asks for.
  let retention: Retention
  /// When it was found, unexpired.
  let moment: WallTime

  package init(key: ContentKey, retention: Retention, at moment: WallTime) {
    self.key = key
    self.retention = retention
    self.moment = moment
  }
}
