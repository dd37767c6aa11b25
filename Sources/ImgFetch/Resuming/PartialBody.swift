/// The first part of a body whose transfer broke off.
package struct PartialBody: Sendable {
  package let content: BodyContent
  package let resumeState: ResumeState

  package init(content: BodyContent, resumeState: ResumeState) {
    self.content = content
    self.resumeState = resumeState
  }
}

/// What a later transfer needs to know to resume a partial body.
package struct ResumeState: Hashable, Sendable {
  /// Identifies the body, as `If-Range` carries it.
  package let validator: String
  /// The URL that issued the validator, where a redirect led to it; `nil` for the URL of the
  /// request. The validator is sent to no other URL: another body may have an equal one.
  package let issuer: String?
  /// The length of the whole; `nil` where the origin did not say.
  package let completeByteCount: Int?
  /// Bytes of bodies that the origin sent for it, in all transfers so far.
  package let receivedByteCount: Int

  package init(
    validator: String, issuer: String? = nil, completeByteCount: Int?, receivedByteCount: Int
  ) {
    self.validator = validator
    self.issuer = issuer
    self.completeByteCount = completeByteCount
    self.receivedByteCount = receivedByteCount
  }

  /// The header fields that request the rest.
  func requestFields(from byteCount: Int) -> [String] {
    ["Range: bytes=\(byteCount)-", "If-Range: \(validator)"]
  }
}

/// What a transfer leaves for the next one of the same picture.
package enum Leftover: Sendable {
  /// Nothing new. A partial body from before can still be resumed.
  case unchanged
  /// A partial body from before can no longer be resumed.
  case obsolete
  /// A partial body that the next transfer can resume. It is charged like a body and given back
  /// like one, see ``TransferPool/releaseBody(_:)``.
  case partial(PartialBody, BodyCharge)
}
