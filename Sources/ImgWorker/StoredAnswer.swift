import ImgModel
import ImgStore

/// What the store has that answers a lease, as far as it has all that is to be kept.
struct StoredAnswer {
  /// What is told; `nil` when the thumbnail is still to be made, from the original.
  let thumbnail: Thumbnail?
  /// What it rests on.
  let records: [StoredThumbnail]

  /// - Parameters:
  ///   - thumbnail: in the variant.
  ///   - original: of the picture.
  /// - Returns: `nil` for a miss.
  init?(_ keep: Keep, thumbnail: StoredThumbnail?, original: StoredThumbnail?) {
    switch (keep, thumbnail, original) {
    case (.original, _, let original?): self.init(original.thumbnail, [original])
    case (.all, let thumbnail?, let original?):
      self.init(thumbnail.thumbnail, [thumbnail, original])
    case (.thumbnail, let thumbnail?, _), (.none, let thumbnail?, _):
      self.init(thumbnail.thumbnail, [thumbnail])
    case (.all, nil, let original?), (.thumbnail, nil, let original?), (.none, nil, let original?):
      self.init(nil, [original])
    case (_, _, nil): return nil
    }
  }

  private init(_ thumbnail: Thumbnail?, _ records: [StoredThumbnail]) {
    self.thumbnail = thumbnail
    self.records = records
  }

  /// Whether it may be given out stale, if the origin is asked about it meanwhile.
  func isServedWhileRevalidating(at now: WallTime) -> Bool {
    thumbnail != nil && records.allSatisfy { $0.terms.servesWhileRevalidating(at: now) }
  }

  /// Whether it may be given out stale, if the origin fails.
  func isServedAfterError(at now: WallTime) -> Bool {
    thumbnail != nil && records.allSatisfy { $0.terms.servesAfterError(at: now) }
  }

  /// Whether it may be given out as it is.
  func isAccepted(by policy: CachePolicy, at now: WallTime) -> Bool {
    records.allSatisfy { policy.accepts($0.terms, at: now) }
  }
}
