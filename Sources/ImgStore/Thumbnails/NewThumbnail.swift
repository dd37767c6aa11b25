package import ImgModel

extension CacheRecord {
  func isExpired(at now: WallTime) -> Bool {
    expiryTime <= now
  }

  /// The thumbnail's facts after an access; `nil` if it changes nothing. An access never shortens
  /// the expiry.
  ///
  /// A sliding expiry moves after more than a tenth of the lifetime, so that frequent accesses do
  /// not write the thumbnail each time.
  ///
  /// - Parameters:
  ///   - retention: the requested retention, with durations counted from the download.
  ///   - now: the time of the access, before the expiry.
  package func extended(by retention: Retention, at now: WallTime) -> CacheRecord? {
    var extended = self
    let longer = max(lifetime, retention.sliding)
    extended.lifetime = longer
    extended.expiryTime = max(expiryTime, retention.expiresAt(storedAt: storageTime))
    let moved = now.advanced(by: longer)
    // Most have no such lifetime, and a division of durations is slow.
    let step = longer > .zero ? longer / 10 : .zero
    if extended.expiryTime.duration(to: moved) > step { extended.expiryTime = moved }
    let isSame = extended.expiryTime == expiryTime && longer == lifetime
    return isSame ? nil : extended
  }
}

/// A thumbnail or an original to store.
package struct NewThumbnail: Sendable {
  package let key: ContentKey
  package let url: String
  package let thumbnail: Thumbnail
  package let source: SourcePicture
  /// Its durations count from the time of storage.
  package private(set) var retention: Retention
  package let terms: ReuseTerms
  /// Another record, which is removed when this one is stored.
  let replaced: ContentKey?
  /// An original of the same URL and of an earlier body, which is removed if it is spare.
  let outdated: ContentKey?
  /// Whether it is evicted before the records that are not spare, and within a share of its own; `nil` for
  /// what the record is that it replaces. It never makes one spare that was not.
  package let isSpare: Bool?
  /// The encoded picture.
  package let content: NewContent

  /// - Parameters:
  ///   - terms: the terms of the response; none for a local picture.
  ///   - replaced: a record of the same URL that belongs to the previous picture.
  ///   - outdated: an original of the same URL and of an earlier body, which is removed if it is spare.
  ///   - isSpare: whether it is evicted before others; `nil` for what the record is that it replaces.
  /// - Precondition: the content has the length in `thumbnail`.
  package init(
    key: ContentKey, url: String, thumbnail: Thumbnail, source: SourcePicture, retention: Retention,
    terms: ReuseTerms = .none, replaces replaced: ContentKey? = nil,
    outdates outdated: ContentKey? = nil, isSpare: Bool? = false, content: NewContent
  ) {
    precondition(content.byteCount == thumbnail.byteCount, "the length differs from the facts")
    self.key = key
    self.url = url
    self.thumbnail = thumbnail
    self.source = source
    self.retention = retention
    self.terms = terms
    self.replaced = replaced
    self.outdated = outdated
    self.isSpare = isSpare
    self.content = content
  }

  /// - Parameter bytes: the encoded picture.
  /// - Precondition: `bytes` has the length in `thumbnail`.
  package init(
    key: ContentKey, url: String, thumbnail: Thumbnail, source: SourcePicture, retention: Retention,
    terms: ReuseTerms = .none, replaces replaced: ContentKey? = nil, bytes: [UInt8]
  ) {
    self.init(
      key: key, url: url, thumbnail: thumbnail, source: source, retention: retention,
      terms: terms, replaces: replaced, content: .bytes(bytes))
  }

  /// The same, pinned by no job.
  package var withoutPins: NewThumbnail {
    var unpinned = self
    unpinned.retention = retention.withoutPins
    return unpinned
  }
}

/// The result of a look-up.
package enum StoreLookup: Hashable, Sendable {
  case hit(CacheRecord)
  /// An unusable record, which counts as a miss. A writer removes it with
  /// ``ThumbnailStore/removeStale(_:at:)``.
  case stale(Staleness)
  case miss

  /// Why a record is unusable.
  package enum Staleness: Hashable, Sendable {
    case expired
    /// It fails its checksum, or its version or lengths are wrong.
    case corrupt
  }
}

/// An access to a stored thumbnail that may extend its expiry, as `CacheRecord.extended(by:at:)` says.
package struct ThumbnailAccess: Sendable {
  package let key: ContentKey
  /// The retention that the request asks for.
  package let retention: Retention
  /// When the thumbnail was found, before its expiry.
  let moment: WallTime
  /// Whether the record may have to be kept for longer. Otherwise it is only pinned.
  let extends: Bool

  package init(
    key: ContentKey, retention: Retention, at moment: WallTime, extends: Bool = true
  ) {
    self.key = key
    self.retention = retention
    self.moment = moment
    self.extends = extends
  }

  /// The same, pinned by no job.
  package var withoutPins: ThumbnailAccess {
    ThumbnailAccess(key: key, retention: retention.withoutPins, at: moment, extends: extends)
  }
}
