/// The metadata of a thumbnail that is not in the store. A sealed memory file beside the message has
/// its bytes.
package struct UncachedThumbnail: Hashable, Sendable, Codable {
  package let thumbnail: Thumbnail
  /// The format of the source picture.
  package let sourceFormat: ImageFormat
  package let sourceWidth: Int
  package let sourceHeight: Int
  package let decodePath: DecodePath
  /// `nil` if the picture was not decoded, but its facts were read.
  package let thumbHash: ThumbHash?
  /// The size of the response body.
  package let sourceByteCount: Int64
  /// Why the store failed to store it; `nil` if it was not meant to be stored.
  package let failure: Failure?
  package let timings: Timings?

  package init(
    thumbnail: Thumbnail, sourceFormat: ImageFormat, sourceWidth: Int, sourceHeight: Int,
    decodePath: DecodePath = .general, thumbHash: ThumbHash? = nil, sourceByteCount: Int64,
    failure: Failure?,
    timings: Timings? = nil
  ) {
    self.thumbnail = thumbnail
    self.sourceFormat = sourceFormat
    self.sourceWidth = sourceWidth
    self.sourceHeight = sourceHeight
    self.decodePath = decodePath
    self.thumbHash = thumbHash
    self.sourceByteCount = sourceByteCount
    self.failure = failure
    self.timings = timings
  }

  private enum CodingKeys: String, CodingKey {
    case thumbnail
    case sourceFormat = "source_format"
    case sourceWidth = "source_width"
    case sourceHeight = "source_height"
    case decodePath = "decode_path"
    case thumbHash = "thumbhash"
    case sourceByteCount = "source_bytes"
    case failure, timings
  }
}
