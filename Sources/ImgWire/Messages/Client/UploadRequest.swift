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

  package init(id: RequestID, url: String?, byteCount: Int, options: RequestOptions) {
    self.id = id
    self.url = url
    self.byteCount = byteCount
    self.options = options
  }

  private enum CodingKeys: String, CodingKey {
    case id, url
    case byteCount = "bytes"
    case options
  }
}
