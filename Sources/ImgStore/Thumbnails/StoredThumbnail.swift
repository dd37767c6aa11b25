package import ImgModel

/// The facts of a record, without its bytes. The record is a thumbnail, an original as received,
/// or the facts of a picture as JSON.
package struct StoredThumbnail: Hashable, Sendable {
  package let key: ContentKey
  package let url: String
  package let thumbnail: Thumbnail
  package let storedAt: WallTime
  /// The thumbnail is not served from this time on.
  package private(set) var expiresAt: WallTime
  /// How long the thumbnail is kept after each access; 0 if accesses do not change the expiry.
  package private(set) var lifetime: Duration
  /// The format of the source picture.
  package let sourceFormat: ImageFormat
  package let sourceWidth: Int
  package let sourceHeight: Int
  package let decodePath: DecodePath
  /// Of the picture that a thumbnail was made from; `nil` for any other record.
  package let thumbHash: ThumbHash?
  /// The length of the body that the origin sent.
  package let sourceByteCount: Int64
  /// The terms of HTTP caching, independent of ``expiresAt``.
  package let terms: ReuseTerms

  package var isOriginal: Bool { key == ContentKey(originalOfRecord: url) }
  /// Whether the record is the facts of a picture. Their format and size are those of the picture.
  package var isFacts: Bool {
    [PicturePart.facts, .allFacts, .wholeOfAnyFormat].contains {
      key == ContentKey(factsOfRecord: url, $0)
    }
  }

  func isExpired(at now: WallTime) -> Bool {
    expiresAt <= now
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
  package func extended(by retention: Retention, at now: WallTime) -> StoredThumbnail? {
    var extended = self
    let longer = max(lifetime, retention.sliding)
    extended.lifetime = longer
    extended.expiresAt = max(expiresAt, retention.expiresAt(storedAt: storedAt))
    let moved = now.advanced(by: longer)
    if extended.expiresAt.duration(to: moved) > longer / 10 { extended.expiresAt = moved }
    let isSame = extended.expiresAt == expiresAt && longer == lifetime
    return isSame ? nil : extended
  }
}

/// A thumbnail or an original to store.
package struct NewThumbnail: Sendable {
  package let key: ContentKey
  package let url: String
  package let thumbnail: Thumbnail
  package let sourceFormat: ImageFormat
  package let sourceWidth: Int
  package let sourceHeight: Int
  package let decodePath: DecodePath
  package let thumbHash: ThumbHash?
  package let sourceByteCount: Int64
  /// Its durations count from the time of storage.
  package private(set) var retention: Retention
  package let terms: ReuseTerms
  /// Another record, which is removed when this one is stored.
  let replaced: ContentKey?
  /// The encoded picture.
  package let bytes: [UInt8]

  /// - Parameters:
  ///   - terms: the terms of the response; none for a local picture.
  ///   - replaced: a record of the same URL that belongs to the previous picture.
  /// - Precondition: `bytes` has the length in `thumbnail`.
  package init(
    key: ContentKey, url: String, thumbnail: Thumbnail, sourceFormat: ImageFormat,
    sourceWidth: Int, sourceHeight: Int, decodePath: DecodePath = .general,
    thumbHash: ThumbHash? = nil, sourceByteCount: Int64, retention: Retention,
    terms: ReuseTerms = .none, replaces replaced: ContentKey? = nil, bytes: [UInt8]
  ) {
    precondition(bytes.count == thumbnail.byteCount, "the length differs from the facts")
    self.key = key
    self.url = url
    self.thumbnail = thumbnail
    self.sourceFormat = sourceFormat
    self.sourceWidth = sourceWidth
    self.sourceHeight = sourceHeight
    self.decodePath = decodePath
    self.thumbHash = thumbHash
    self.sourceByteCount = sourceByteCount
    self.retention = retention
    self.terms = terms
    self.replaced = replaced
    self.bytes = bytes
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
  case hit(StoredThumbnail)
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

/// The size of the store.
package struct StoreSummary: Hashable, Sendable {
  package let entryCount: Int
  /// The bytes of all used pages: records, indexes and the loss by rounding to pages. The file also
  /// contains the free pages.
  package let occupiedByteCount: Int64
  /// The budget of the last process that opened the store for writing.
  package let budgetByteCount: Int64
  /// The limit of the disk; `nil` if it is above the budget.
  package let diskByteCount: Int64?

  /// The maximum size of the store now.
  package var effectiveBudgetByteCount: Int64 { diskByteCount ?? budgetByteCount }
}

/// Statistics of the store.
package struct StoreStatistics: Hashable, Sendable {
  package let summary: StoreSummary
  /// Expired entries that are not yet removed.
  package let expiredCount: Int
  /// Bytes of the encoded thumbnails.
  package let thumbnailByteCount: Int64
  /// Partial bodies, and the bytes of their pages.
  package let partialCount: Int
  package let partialByteCount: Int64
  /// The records that jobs pin.
  package let pinned: PinTotals
  /// When the oldest entry was stored; `nil` if the store is empty.
  package let oldestStoredAt: WallTime?
  /// `nil` if this process may not read the counters' file.
  package let counters: StoreCounters?
  /// Free pages of the data file.
  package let freePageCount: Int
  /// The bytes of the free pages.
  package let freeByteCount: Int64
  /// The length of the data file.
  package let fileByteCount: Int64
  /// Address space reserved for the data file.
  package let mapByteCount: Int64
}

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
