package import ImgModel

/// What a conditional request asks about a stored response: whether it still holds (RFC 9110
/// sections 8.8 and 13.1).
package struct Validators: Equatable, Sendable {
  let entityTag: EntityTag?
  /// The date as the origin wrote it.
  let lastModified: String?
  /// See ``CachingFields/issuer``.
  let issuer: String?

  /// - Returns: `nil` when the record has neither a tag nor a date.
  package init?(_ terms: ReuseTerms) {
    let fields = CachingFields(terms)
    entityTag = fields.entityTag
    lastModified = fields[.lastModified].flatMap { text in
      // A year of two digits names some year at any time.
      HTTPDate(text, now: WallTime(rawValue: 0)).map { _ in text }
    }
    issuer = fields.issuer
    guard entityTag != nil || lastModified != nil else { return nil }
  }

  /// The header line of the condition (RFC 9111 section 4.3.1).
  var condition: String {
    entityTag.map { "If-None-Match: \($0.text)" }
      ?? "If-Modified-Since: \(lastModified ?? "")"
  }

  /// Whether both are conditions on the same response.
  package func isSame(as other: Validators) -> Bool {
    condition == other.condition && issuer == other.issuer
  }
}
