package import ImgModel

/// A picture that somebody uploads, to have it treated as if it had been fetched just now.
package struct UploadRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  /// What it is the picture of: there it is stored, in place of what was. `nil` to have the
  /// thumbnail handed over and nothing stored.
  package let url: String?
  /// Bytes in the file beside the message.
  package let byteCount: Int
  /// Without a delay: nothing is waited for that could be spared.
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
