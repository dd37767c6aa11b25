import ImgDecode
import ImgStore
import ImgWire

/// One `fetch` or `ride` lease of this worker, from its assignment to its result.
struct Fetch {
  let lease: LeaseID
  let url: ImageURL
  let variant: Variant
  let expireAfterMilliseconds: Int64
  let isUrgent: Bool
  /// Set when nobody waits for the result any more.
  let cancellation = Cancellation()
  /// What the result reports as fetched; known once the body is in.
  var bytesFetched = 0
  /// Bytes of body that the origin sent, for whichever lease; known once the body is in.
  var sourceByteCount = 0
  /// Known once it is decoded.
  var thumbnail: Thumbnail?

  init(_ assignment: Assignment, of batch: Batch) throws(Failure) {
    lease = assignment.lease
    url = try ImageURL(parsing: assignment.url)
    variant = batch.variant
    expireAfterMilliseconds = batch.expireAfterMilliseconds
    isUrgent = batch.isUrgent
  }

  /// The record to keep: it expires counted from its download.
  func stored(_ rendered: RenderedThumbnail, at now: WallTime) -> NewThumbnail {
    NewThumbnail(
      key: ContentKey(url: url, variant: variant), url: url.text, thumbnail: rendered.thumbnail,
      sourceFormat: rendered.source.format, sourceWidth: rendered.source.width,
      sourceHeight: rendered.source.height, sourceByteCount: Int64(sourceByteCount),
      expiresAt: now.advanced(byMilliseconds: expireAfterMilliseconds), bytes: rendered.bytes)
  }
}
