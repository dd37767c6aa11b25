/// What is known of a thumbnail that was made and is not in the store. Its bytes are in a sealed
/// memory file beside the message that holds this.
package struct UncachedThumbnail: Hashable, Sendable, Codable {
  package let thumbnail: Thumbnail
  /// The picture it was made of.
  package let sourceFormat: ImageFormat
  package let sourceWidth: Int
  package let sourceHeight: Int
  /// Bytes of the body that the origin sent.
  package let sourceByteCount: Int64
  /// Why the store has not got it; `nil` when it was not to have it.
  package let failure: Failure?
  package let timings: Timings?

  package init(
    thumbnail: Thumbnail, sourceFormat: ImageFormat, sourceWidth: Int, sourceHeight: Int,
    sourceByteCount: Int64, failure: Failure?, timings: Timings? = nil
  ) {
    self.thumbnail = thumbnail
    self.sourceFormat = sourceFormat
    self.sourceWidth = sourceWidth
    self.sourceHeight = sourceHeight
    self.sourceByteCount = sourceByteCount
    self.failure = failure
    self.timings = timings
  }

  private enum CodingKeys: String, CodingKey {
    case thumbnail
    case sourceFormat = "source_format"
    case sourceWidth = "source_width"
    case sourceHeight = "source_height"
    case sourceByteCount = "source_bytes"
    case failure, timings
  }
}
