/// The beginning of a body whose transfer broke off, and what it takes to have only the rest sent.
package struct StoredPartial: Hashable, Sendable {
  /// What it is the body of, see `PictureName.recordText`.
  package let url: String
  /// What the body is recognised by, in the form that `If-Range` takes (RFC 9110 section 13.1.5): a
  /// strong entity tag or a date.
  package let validator: String
  /// The URL that issued the validator, where a redirect led to it; `nil` for the URL that was asked
  /// for.
  package let issuer: String?
  /// How long the whole body is; `nil` where the origin did not say.
  package let completeByteCount: Int64?
  /// Bytes of bodies that the origin sent for it, in all transfers so far.
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
