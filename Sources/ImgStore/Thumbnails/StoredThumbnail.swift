package import ImgWire

/// What the store knows of one of its thumbnails, without the bytes.
package struct StoredThumbnail: Hashable, Sendable {
  package let key: ContentKey
  package let url: String
  package let thumbnail: Thumbnail
  package let storedAt: WallTime
  /// From this moment on the thumbnail is not given out any more.
  package let expiresAt: WallTime
  /// The picture it was made of.
  package let sourceFormat: ImageFormat
  package let sourceWidth: Int
  package let sourceHeight: Int
  /// Bytes of the body that the origin sent.
  package let sourceByteCount: Int64

  func isExpired(at now: WallTime) -> Bool {
    expiresAt <= now
  }
}

/// A thumbnail on its way into the store.
package struct NewThumbnail: Sendable {
  package let key: ContentKey
  package let url: String
  package let thumbnail: Thumbnail
  package let sourceFormat: ImageFormat
  package let sourceWidth: Int
  package let sourceHeight: Int
  package let sourceByteCount: Int64
  package let expiresAt: WallTime
  /// The encoded picture.
  package let bytes: [UInt8]

  /// - Precondition: `bytes` is as long as `thumbnail` says.
  package init(
    key: ContentKey, url: String, thumbnail: Thumbnail, sourceFormat: ImageFormat,
    sourceWidth: Int, sourceHeight: Int, sourceByteCount: Int64, expiresAt: WallTime,
    bytes: [UInt8]
  ) {
    precondition(bytes.count == thumbnail.byteCount, "a thumbnail is as long as its facts say")
    self.key = key
    self.url = url
    self.thumbnail = thumbnail
    self.sourceFormat = sourceFormat
    self.sourceWidth = sourceWidth
    self.sourceHeight = sourceHeight
    self.sourceByteCount = sourceByteCount
    self.expiresAt = expiresAt
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
}

/// The store in numbers.
package struct StoreStatistics: Hashable, Sendable {
  package let summary: StoreSummary
  /// Entries that are past their expiry and not yet removed.
  package let expiredCount: Int
  /// Bytes of the encoded thumbnails.
  package let thumbnailByteCount: Int64
  /// When the oldest entry was stored; `nil` when the store is empty.
  package let oldestStoredAt: WallTime?
  /// What happened to the store; `nil` when this process may not read the file that counts.
  package let counters: StoreCounters?
  /// Pages of the data file that are free for reuse.
  package let freePageCount: Int
  /// The length of the data file.
  package let fileByteCount: Int64
  /// Address space reserved for the data file.
  package let mapByteCount: Int64
}
