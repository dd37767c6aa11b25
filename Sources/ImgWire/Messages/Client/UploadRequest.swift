package import ImgModel

/// A request for a thumbnail of an uploaded picture. The picture is handled as if it had been fetched
/// just now.
package struct UploadRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  /// The URL of the picture. The result replaces the stored one. `nil` for an inline result that is
  /// not stored.
  package let url: String?
  /// The size of the file beside the message.
  package let byteCount: Int
  /// The options, without a delay.
  package let options: RequestOptions
  /// Whether the result is the pixels of one frame in place of an encoded thumbnail: RGBA in sRGB, 8 bits a
  /// sample, unassociated alpha, rows from the top without gaps. Such a result is never stored, so there
  /// is no ``url`` then.
  package let wantsPixels: Bool

  package init(
    id: RequestID, url: String?, byteCount: Int, options: RequestOptions, wantsPixels: Bool = false
  ) {
    self.id = id
    self.url = url
    self.byteCount = byteCount
    self.options = options
    self.wantsPixels = wantsPixels
  }

  private enum CodingKeys: String, CodingKey {
    case id, url
    case byteCount = "bytes"
    case options
    case wantsPixels = "pixels"
  }
}
