package import ImgModel

/// An access to a stored thumbnail that may extend its expiry, see
/// ``StoredThumbnail/extended(by:at:)``.
package struct ThumbnailAccess: Sendable {
  let key: ContentKey
  /// The retention that the request asks for.
  let retention: Retention
  /// When the thumbnail was found, before its expiry.
  let moment: WallTime

  package init(key: ContentKey, retention: Retention, at moment: WallTime) {
    self.key = key
    self.retention = retention
    self.moment = moment
  }
}
