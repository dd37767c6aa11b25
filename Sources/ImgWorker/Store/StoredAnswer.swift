import ImgFetch
import ImgModel
import ImgStore
import ImgWire

/// The records of the store that answer a lease, if it has all that the request keeps.
struct StoredAnswer {
  /// What is reported; `nil` if the thumbnails have to be made from the original.
  let thumbnail: Thumbnail?
  /// The records that it depends on.
  let records: [StoredThumbnail]

  /// - Parameters:
  ///   - thumbnails: in each of the variants, not empty; `nil` if one is missing.
  ///   - original: of the picture.
  /// - Returns: `nil` for a miss.
  init?(_ keep: Keep, thumbnails: [StoredThumbnail]?, original: StoredThumbnail?) {
    switch (keep, thumbnails, original) {
    case (.original, _, let original?): self.init(original.thumbnail, [original])
    case (.all, let thumbnails?, let original?):
      self.init(thumbnails[0].thumbnail, thumbnails + [original])
    case (.thumbnail, let thumbnails?, _), (.none, let thumbnails?, _),
      (.facts, let thumbnails?, _), (.allFacts, let thumbnails?, _),
      (.pixelFacts, let thumbnails?, _):
      self.init(thumbnails[0].thumbnail, thumbnails)
    case (_, nil, let original?):
      self.init(nil, [original])
    case (_, _, nil): return nil
    }
  }

  /// What the batch's policy lets the store serve.
  ///
  /// - Returns: `nil` for a miss.
  init?(
    to batch: Batch, thumbnails: [StoredThumbnail]?, original: StoredThumbnail?, at now: WallTime
  ) {
    // If a thumbnail is stale, the original may be fresh: it may have been fetched since.
    let answers = [thumbnails, nil].compactMap {
      StoredAnswer(batch.request.keep, thumbnails: $0, original: original)
    }
    let policy = batch.request.fetch.cachePolicy
    let accepted = answers.first { $0.isAccepted(by: policy, at: now) }
    let served =
      accepted
      ?? answers.first { answer in
        policy == .byProtocol
          && (answer.isServedWhileRevalidating(at: now)
            || batch.takesStale && answer.isServedAfterError(at: now))
      }
    guard let served else { return nil }
    self = served
  }

  private init(_ thumbnail: Thumbnail?, _ records: [StoredThumbnail]) {
    self.thumbnail = thumbnail
    self.records = records
  }

  /// Whether it may be served stale while the origin is asked about it.
  private func isServedWhileRevalidating(at now: WallTime) -> Bool {
    thumbnail != nil && records.allSatisfy { $0.terms.servesWhileRevalidating(at: now) }
  }

  /// Whether it may be served stale if the origin fails.
  func isServedAfterError(at now: WallTime) -> Bool {
    thumbnail != nil && records.allSatisfy { $0.terms.servesAfterError(at: now) }
  }

  /// Whether it may be served as it is.
  func isAccepted(by policy: CachePolicy, at now: WallTime) -> Bool {
    records.allSatisfy { policy.accepts($0.terms, at: now) }
  }

  /// What the origin can be asked about: the validators that all of the records have.
  var validators: Validators? {
    let validators = records.map { Validators($0.terms) }
    guard let first = validators.first ?? nil,
      validators.allSatisfy({ $0?.isSame(as: first) == true })
    else { return nil }
    return first
  }

  /// The accesses by which its records are kept for longer, or pinned.
  func accesses(keeping retention: Retention, at now: WallTime) -> [ThumbnailAccess] {
    records.filter { !retention.pins.isEmpty || $0.extended(by: retention, at: now) != nil }
      .map { ThumbnailAccess(key: $0.key, retention: retention, at: now) }
  }
}
