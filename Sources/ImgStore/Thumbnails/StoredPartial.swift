/// The facts of a partial body, which are needed to request only the rest.
package struct StoredPartial: Hashable, Sendable {
  /// The name of the picture, see `PictureName.recordText`.
  package let url: String
  /// The validator for `If-Range` (RFC 9110 section 13.1.5): a strong entity tag or a date.
  package let validator: String
  /// The URL that issued the validator, if a redirect led to it; `nil` for the requested URL.
  package let issuer: String?
  /// The length of the whole body; `nil` if unknown.
  package let completeByteCount: Int64?
  /// The bytes that the origin has sent for the body in all transfers so far.
  package let receivedByteCount: Int64

  package init(
    url: String, validator: String, issuer: String? = nil, completeByteCount: Int64?,
    receivedByteCount: Int64
  ) {
    self.url = url
    self.validator = validator
    self.issuer = issuer
    self.completeByteCount = completeByteCount
    self.receivedByteCount = receivedByteCount
  }
}
