/// A source of thumbnails whose store a program may change and list, see ``ImageCache``.
///
/// No function blocks a thread of the tasks. Each may go on to its end when its task is cancelled.
public protocol CacheTransport: ImageTransport {
  /// Stores a picture as if it had been fetched for the request just now.
  ///
  /// - Parameters:
  ///   - bytes: an encoded picture.
  ///   - request: does not bypass the store.
  /// - Returns: its thumbnail.
  func put(_ bytes: [UInt8], for request: ImageRequest) async throws(ImageError) -> LoadedImage

  /// Removes the thumbnail of a request.
  ///
  /// - Returns: whether the store had it.
  func removeImage(for request: ImageRequest) async throws(ImageError) -> Bool

  /// Removes everything of a URL, in every size.
  ///
  /// - Returns: how many records the store had.
  func removeImages(of url: String) async throws(ImageError) -> Int

  /// Removes what has expired.
  ///
  /// - Returns: how many records were removed.
  func removeExpired() async throws(ImageError) -> Int

  /// What the store holds.
  func statistics() async throws(ImageError) -> CacheStatistics

  /// The thumbnail of a record.
  ///
  /// - Returns: `nil` if it was removed, has expired, or is no thumbnail.
  func image(of id: CacheRecord.ID) async throws(ImageError) -> LoadedImage?

  /// A part of the records, in an order that does not change.
  ///
  /// - Parameters:
  ///   - id: that of the last record of the part before, which may be gone; `nil` for the first part.
  ///   - limit: the maximum number. Fewer mean the end.
  func records(
    after id: CacheRecord.ID?, limit: Int
  ) async throws(ImageError) -> [CacheRecord]
}
