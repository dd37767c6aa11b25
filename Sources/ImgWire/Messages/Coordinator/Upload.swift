package import ImgModel

/// The lease for an uploaded picture.
package struct Upload: Hashable, Sendable, Codable {
  package let lease: LeaseID
  /// The URL under which the result is stored; `nil` if it is not stored.
  package let url: String?
  package let request: ThumbnailRequest
  package let retention: Retention
  /// The size of the file beside the message.
  package let byteCount: Int
  /// See ``UploadRequest/wantsPixels``.
  package let wantsPixels: Bool

  package init(
    lease: LeaseID, url: String?, request: ThumbnailRequest, retention: Retention, byteCount: Int,
    wantsPixels: Bool = false
  ) {
    self.lease = lease
    self.url = url
    self.request = request
    self.retention = retention
    self.byteCount = byteCount
    self.wantsPixels = wantsPixels
  }

  private enum CodingKeys: String, CodingKey {
    case lease, url, request, retention
    case byteCount = "bytes"
    case wantsPixels = "pixels"
  }
}
