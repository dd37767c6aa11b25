/// The beginning of a body whose transfer broke off.
package struct BodyBeginning: Sendable {
  package let content: BodyContent
  package let mark: BodyMark

  package init(content: BodyContent, mark: BodyMark) {
    self.content = content
    self.mark = mark
  }
}

/// What is known of a body that is in by a part, beside its bytes.
package struct BodyMark: Hashable, Sendable {
  /// What the body is recognised by, as `If-Range` is sent with it.
  package let validator: String
  /// The URL that issued the validator, where a redirect led to it; `nil` for the URL that was asked
  /// for. No other URL is sent the validator: another body may have an equal one.
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

  /// The header fields that ask for the rest.
  func requestFields(from byteCount: Int) -> [String] {
    ["Range: bytes=\(byteCount)-", "If-Range: \(validator)"]
  }
}

/// What is left of a body when its transfer is over.
package enum BodyRemains: Sendable {
  /// Nothing that was not there before; what was there before is as good as ever.
  case nothing
  /// What was there before is of no use any more.
  case useless
  /// What the next transfer can go on from. To be given back as a body is, see
  /// ``TransferPool/releaseBody(_:)``.
  case beginning(BodyBeginning, BodyCharge)
}
