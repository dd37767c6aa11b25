package import ImgModel
package import ImgWire

/// One `fetch`, `attach`, `decode` or `decode_upload` lease as the coordinator assigned it.
package struct FetchOrder: Hashable, Sendable {
  package let lease: LeaseID
  package let url: ImageURL
  package let name: PictureName
  package let request: ThumbnailRequest
  package let retention: Retention
  package let isUrgent: Bool
  /// Whether a client uploaded the picture, which then replaces what the store has of its URL.
  package let isUpload: Bool
  /// Whether the result is pixels in place of a thumbnail. It is never stored.
  package let wantsPixels: Bool
  /// When it was assigned. All transfers for it, one after the other, share the time limit of one.
  package let assignedAt: ContinuousClock.Instant

  /// - Throws: a ``Failure`` of stage `queue` if the assignment names no URL.
  package init(
    _ assignment: Assignment, of batch: Batch, at now: ContinuousClock.Instant
  ) throws(Failure) {
    lease = assignment.lease
    url = try ImageURL(parsing: assignment.url)
    name = batch.request.fetch.name(of: url)
    request = batch.request
    retention = batch.retention
    isUrgent = batch.isUrgent
    isUpload = false
    wantsPixels = false
    assignedAt = now
  }

  /// - Throws: a ``Failure`` of stage `queue` if the upload names a text that is not a URL.
  package init(_ upload: Upload, at now: ContinuousClock.Instant) throws(Failure) {
    lease = upload.lease
    url =
      try upload.url.map { (url) throws(Failure) in try ImageURL(parsing: url) }
      ?? ImageURL(uploaded: upload.lease.rawValue)
    name = PictureName(url)
    request = ThumbnailRequest(
      variant: upload.request.variant, isLenient: upload.request.isLenient,
      keep: upload.request.keep, bypassesStore: upload.url == nil || upload.wantsPixels)
    retention = upload.retention
    isUrgent = true
    isUpload = true
    wantsPixels = upload.wantsPixels
    assignedAt = now
  }

  package var options: FetchOptions { request.fetch }

  /// Orders with equal keys share a transfer.
  package var transferKey: TransferKey { TransferKey(name: name, part: request.keep.part) }

  /// Whether a part of its body may be stored, and continued from. A picture that is known by a
  /// cache key may have another URL's body.
  package var mayLeavePartial: Bool {
    request.keep != .none && request.keep.part.isWhole && !request.bypassesStore
      && options.cacheKey == nil
  }

  /// Whether stale records of the store may answer it, on the terms of HTTP.
  package var mayUseStale: Bool {
    options.cachePolicy == .byProtocol && !request.bypassesStore
  }

  /// Whether the origin may be asked if the stored records still match. A picture that is known by a
  /// cache key may have another URL's records.
  package var mayRevalidate: Bool { mayUseStale && options.cacheKey == nil }
}
