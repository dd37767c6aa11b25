import ImgDecode
import ImgStore
import ImgWire

/// One `fetch` lease of this worker, from its assignment to its result.
struct Fetch {
  let lease: LeaseID
  let url: ImageURL
  let variant: Variant
  let expireAfterMilliseconds: Int64
  /// Whether the body is still on its way, and the transfer can be aborted.
  var isTransferring = true
  /// Bytes of body that the origin sent.
  var bytesFetched = 0
  /// Known once it is decoded.
  var thumbnail: Thumbnail?
  var isCancelled = false

  init(lease: LeaseID, url: ImageURL, variant: Variant, expireAfterMilliseconds: Int64) {
    self.lease = lease
    self.url = url
    self.variant = variant
    self.expireAfterMilliseconds = expireAfterMilliseconds
  }

  /// The record to keep: it expires counted from its download.
  func stored(_ rendered: RenderedThumbnail, at now: WallTime) -> NewThumbnail {
    NewThumbnail(
      key: ContentKey(url: url, variant: variant), url: url.text, thumbnail: rendered.thumbnail,
      sourceFormat: rendered.source.format, sourceWidth: rendered.source.width,
      sourceHeight: rendered.source.height, sourceByteCount: Int64(bytesFetched),
      expiresAt: now.advanced(byMilliseconds: expireAfterMilliseconds), bytes: rendered.bytes)
  }
}
