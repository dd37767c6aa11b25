package import ImgWire

/// A body that came in whole.
package struct FetchedBody: Sendable {
  /// Never empty.
  package let bytes: [UInt8]
  package let httpStatus: Int
  /// The URL that answered, after redirects.
  package let effectiveURL: String
  /// The header as the origin wrote it; not to be believed.
  package let contentType: String?
  /// What the body counts against the pool's budget, until it is given to
  /// ``TransferPool/releaseBody(byteCount:)``.
  package let heldByteCount: Int
}

/// How a transfer ended.
package struct FinishedTransfer: Sendable {
  /// The number the transfer was started with.
  package let id: UInt64
  package let result: Result<FetchedBody, Failure>
  /// Bytes of bodies that came in, those of an error's page among them.
  package let bytesReceived: Int
  /// The origin's wish that it not be asked again so soon (Retry-After, RFC 9110 section 10.2.3);
  /// `nil` when it has none.
  package let retryAfterSeconds: Int64?
  /// Whether a redirect was followed before it ended.
  package let wasRedirected: Bool
}
