import ImgDecode
import ImgFetch
import ImgModel
import ImgStore
import ImgWire

/// One `fetch`, `attach` or `decode` lease of this worker, from its assignment to its result.
struct Fetch {
  let lease: LeaseID
  let url: ImageURL
  let name: PictureName
  let options: FetchOptions
  let variant: Variant
  let keep: Keep
  let retention: Retention
  let isUrgent: Bool
  /// Whether its thumbnail is handed over and not stored.
  let bypassesStore: Bool
  /// Whether somebody says that this is the picture, whatever the store has of its URL.
  let isUpload: Bool
  let cachePolicy: CachePolicy
  /// When it was assigned: what the worker does for it with origins, again and again if need be, has
  /// the time of one transfer.
  let begunAt = ContinuousClock.now
  /// Set when nobody waits for the result any more.
  let cancellation = Cancellation()
  /// What the result reports as fetched; known once the body is in.
  var bytesFetched = 0
  /// Bytes of body that the origin sent, for whichever lease; known once the body is in.
  var sourceByteCount = 0
  /// Bytes of the picture among them.
  var bodyByteCount = 0
  /// What was done for it so far took this long.
  var timings = Timings()
  /// When the store was handed what is to be kept.
  var putAt: ContinuousClock.Instant?
  /// What the origin says of the picture's reuse; `nil` as long as it was not asked.
  var reuse: AnswerReuse?
  /// What its result will be if the store takes what is to be kept; known once it is decoded.
  var outcome: Outcome?

  init(_ assignment: Assignment, of batch: Batch) throws(Failure) {
    lease = assignment.lease
    url = try ImageURL(parsing: assignment.url)
    options = batch.request.fetch
    name = options.name(of: url)
    variant = batch.request.variant
    keep = batch.request.keep
    retention = batch.retention
    isUrgent = batch.isUrgent
    bypassesStore = batch.request.bypassesStore
    isUpload = false
    cachePolicy = batch.request.fetch.cachePolicy
  }

  init(_ picture: Upload) throws(Failure) {
    lease = picture.lease
    url =
      try picture.url.map { (url) throws(Failure) in try ImageURL(parsing: url) }
      ?? ImageURL(uploaded: picture.lease.rawValue)
    name = PictureName(url)
    options = .standard
    variant = picture.request.variant
    keep = picture.request.keep
    retention = picture.retention
    isUrgent = true
    bypassesStore = picture.url == nil
    isUpload = true
    cachePolicy = .cacheElseLoad
    holdBody(byteCount: picture.byteCount)
  }

  /// The picture is at hand, from no origin.
  mutating func holdBody(byteCount: Int) {
    sourceByteCount = byteCount
    bodyByteCount = byteCount
  }

  /// What is told of it: the thumbnail or, where only the original is wanted, that.
  ///
  /// - Parameter original: what it was made from, where that was in the store.
  func outcome(of rendered: RenderedThumbnail, original: StoredThumbnail?) -> Outcome {
    let told =
      keep == .original
      ? original?.thumbnail ?? Self.original(of: rendered.source, byteCount: bodyByteCount)
      : rendered.thumbnail
    return .done(told, fromCache: original != nil, bytesFetched: bytesFetched)
  }

  // MARK: - What is kept

  /// Whether anything is to be in the store. What its origin does not want stored is stored all the
  /// same, unless HTTP is to be followed.
  var isKept: Bool {
    let isForbidden = cachePolicy == .byProtocol && reuse?.isStorable == false
    return keep != .none && !bypassesStore && !isForbidden
  }

  /// The thumbnail's record.
  ///
  /// - Parameter original: what it was made from, where that was in the store; else its download
  ///   has just ended.
  func thumbnail(
    _ rendered: RenderedThumbnail, original: StoredThumbnail?, at now: WallTime
  ) -> NewThumbnail {
    NewThumbnail(
      key: ContentKey(name, variant: variant), url: name.recordText, thumbnail: rendered.thumbnail,
      sourceFormat: rendered.source.format, sourceWidth: rendered.source.width,
      sourceHeight: rendered.source.height,
      sourceByteCount: original?.sourceByteCount ?? Int64(sourceByteCount),
      retention: original.map { retention(from: $0, at: now) } ?? retention,
      terms: reuse?.terms ?? original?.terms ?? .none,
      replaces: displaced(by: .thumbnail, ContentKey(originalOf: name)), bytes: rendered.bytes)
  }

  /// The body's record.
  func original(_ body: [UInt8], of source: SourceFacts) -> NewThumbnail {
    NewThumbnail(
      key: ContentKey(originalOf: name), url: name.recordText,
      thumbnail: Self.original(of: source, byteCount: body.count), sourceFormat: source.format,
      sourceWidth: source.width, sourceHeight: source.height,
      sourceByteCount: Int64(sourceByteCount), retention: retention, terms: reuse?.terms ?? .none,
      replaces: displaced(by: .original, ContentKey(name, variant: variant)), bytes: body)
  }

  /// What a record displaces: of a picture that is uploaded, the other record, if that is not
  /// stored with it. That one is of whatever the URL had before.
  private func displaced(by only: Keep, _ other: ContentKey) -> ContentKey? {
    isUpload && keep == only ? other : nil
  }

  /// A body, described as what it is: a picture in its own size.
  static func original(of source: SourceFacts, byteCount: Int) -> Thumbnail {
    Thumbnail(
      format: source.format, width: source.width, height: source.height, byteCount: byteCount)
  }

  /// Durations count from the download, also where that was long ago. Then the thumbnail is kept as
  /// long from now on, but not for longer than its original on that account.
  private func retention(from original: StoredThumbnail, at now: WallTime) -> Retention {
    // The origin has just said that it still holds, which is as good as a download.
    guard reuse == nil else { return retention }
    let fromDownload = retention.expiresAt(storedAt: original.storedAt)
    let fromNow = retention.expiresAt(storedAt: now)
    return Retention(
      until: max(fromDownload, min(fromNow, original.expiresAt)),
      slidingMilliseconds: retention.slidingMilliseconds)
  }
}
