package import ImgModel

/// An access to a stored thumbnail that may extend its expiry, see
/// ``StoredThumbnail/extended(by:at:)``.
package struct ThumbnailAccess: Sendable {
  package let key: ContentKey
  /// The retention that the request asks for.
  package let retention: Retention
  /// When the thumbnail was found, before its expiry.
  let moment: WallTime

  package init(key: ContentKey, retention: Retention, at moment: WallTime) {
    self.key = key
    self.retention = retention
    self.moment = moment
  }

  /// The same, pinned by no job.
  package var withoutPins: ThumbnailAccess {
    ThumbnailAccess(key: key, retention: retention.withoutPins, at: moment)
  }
}
