package import ImgModel

/// What the store knows of one of its records, without the bytes: of a thumbnail or of an original,
/// which is kept as it came and is described in the same words.
package struct StoredThumbnail: Hashable, Sendable {
  package let key: ContentKey
  package let url: String
  package let thumbnail: Thumbnail
  package let storedAt: WallTime
  /// From this moment on the thumbnail is not given out any more.
  package private(set) var expiresAt: WallTime
  /// How long it is kept from each access on; 0 where accesses change nothing.
  package private(set) var lifetimeMilliseconds: Int64
  /// The picture it was made of.
  package let sourceFormat: ImageFormat
  package let sourceWidth: Int
  package let sourceHeight: Int
  /// Bytes of the body that the origin sent.
  package let sourceByteCount: Int64
  /// By HTTP, whatever ``expiresAt`` says.
  package let terms: ReuseTerms

  package var isOriginal: Bool { key == ContentKey(originalOfRecord: url) }

  func isExpired(at now: WallTime) -> Bool {
    expiresAt <= now
  }

  /// The thumbnail as it is kept after an access; `nil` when that changes nothing. Nothing shortens
  /// its life.
  ///
  /// Where accesses count, its expiry moves when more than a tenth of the lifetime has passed since
  /// it was set: a thumbnail that is accessed all the time is not written all the time.
  ///
  /// - Parameters:
  ///   - retention: what who accesses it asks for, with durations counted from its download.
  ///   - now: when it is accessed, and has not expired.
  package func extended(by retention: Retention, at now: WallTime) -> StoredThumbnail? {
    var extended = self
    let lifetime = max(lifetimeMilliseconds, retention.slidingMilliseconds)
    extended.lifetimeMilliseconds = lifetime
    extended.expiresAt = max(expiresAt, retention.expiresAt(storedAt: storedAt))
    let moved = now.advanced(byMilliseconds: lifetime)
    if extended.expiresAt.milliseconds(to: moved) > lifetime / 10 { extended.expiresAt = moved }
    let isSame = extended.expiresAt == expiresAt && lifetime == lifetimeMilliseconds
    return isSame ? nil : extended
  }
}

/// A thumbnail, or an original, on its way into the store.
package struct NewThumbnail: Sendable {
  package let key: ContentKey
  package let url: String
  package let thumbnail: Thumbnail
  package let sourceFormat: ImageFormat
  package let sourceWidth: Int
  package let sourceHeight: Int
  package let sourceByteCount: Int64
  /// Its durations count from the moment at which it is stored.
  package let retention: Retention
  package let terms: ReuseTerms
  /// Another record, which goes when this one is stored.
  let displaced: ContentKey?
  /// The encoded picture.
  package let bytes: [UInt8]

  /// - Parameters:
  ///   - terms: of the answer that the picture came with; none for one of the person's own.
  ///   - displaced: a record of the same URL that is of another picture from now on.
  /// - Precondition: `bytes` is as long as `thumbnail` says.
  package init(
    key: ContentKey, url: String, thumbnail: Thumbnail, sourceFormat: ImageFormat,
    sourceWidth: Int, sourceHeight: Int, sourceByteCount: Int64, retention: Retention,
    terms: ReuseTerms = .none, displacing displaced: ContentKey? = nil, bytes: [UInt8]
  ) {
    precondition(bytes.count == thumbnail.byteCount, "a thumbnail is as long as its facts say")
    self.key = key
    self.url = url
    self.thumbnail = thumbnail
    self.sourceFormat = sourceFormat
    self.sourceWidth = sourceWidth
    self.sourceHeight = sourceHeight
    self.sourceByteCount = sourceByteCount
    self.retention = retention
    self.terms = terms
    self.displaced = displaced
    self.bytes = bytes
  }
}

/// What a look-up found.
package enum StoreLookup: Hashable, Sendable {
  case hit(StoredThumbnail)
  /// A record that is of no use any more. Whoever may write removes it with
  /// ``ThumbnailStore/removeStale(_:at:)``; for everybody it is a miss.
  case stale(Staleness)
  case miss

  /// Why a record is of no use any more.
  package enum Staleness: Hashable, Sendable {
    case expired
    /// It fails its checksum, or its version or its lengths make no sense.
    case corrupt
  }
}

/// How full the store is.
package struct StoreSummary: Hashable, Sendable {
  package let entryCount: Int
  /// What the pages in use occupy: records, indexes and what is lost by rounding to pages. The file
  /// is larger by the pages that are free for reuse.
  package let occupiedByteCount: Int64
  /// The budget of the process that opened the store for writing last.
  package let budgetByteCount: Int64
  /// What the disk has room for; `nil` while that is more than the budget.
  package let diskByteCount: Int64?

  /// What the store may occupy now.
  package var effectiveBudgetByteCount: Int64 { diskByteCount ?? budgetByteCount }
}

/// The store in numbers.
package struct StoreStatistics: Hashable, Sendable {
  package let summary: StoreSummary
  /// Entries that are past their expiry and not yet removed.
  package let expiredCount: Int
  /// Bytes of the encoded thumbnails.
  package let thumbnailByteCount: Int64
  /// Beginnings of bodies whose transfers broke off, and what they occupy.
  package let partialCount: Int
  package let partialByteCount: Int64
  /// When the oldest entry was stored; `nil` when the store is empty.
  package let oldestStoredAt: WallTime?
  /// What happened to the store; `nil` when this process may not read the file that counts.
  package let counters: StoreCounters?
  /// Pages of the data file that are free for reuse.
  package let freePageCount: Int
  /// What these pages occupy in the data file.
  package let freeByteCount: Int64
  /// The length of the data file.
  package let fileByteCount: Int64
  /// Address space reserved for the data file.
  package let mapByteCount: Int64
}
