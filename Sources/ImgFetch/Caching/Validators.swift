package import ImgModel

/// What an origin can be asked about an answer of its: whether it still holds (RFC 9110 sections
/// 8.8 and 13.1).
package struct Validators: Equatable, Sendable {
  let entityTag: EntityTag?
  /// The date as the origin wrote it.
  let lastModified: String?
  /// See ``CachingFields/issuer``.
  let issuer: String?

  /// - Returns: `nil` when there is nothing to ask about.
  package init?(_ terms: ReuseTerms) {
    let fields = CachingFields(terms)
    entityTag = fields[.entityTag].flatMap(EntityTag.init)
    lastModified = fields[.lastModified].flatMap { text in
      // Two digits of a year name some year whenever it is.
      HTTPDate(text, now: WallTime(rawValue: 0)).map { _ in text }
    }
    issuer = fields.issuer
    guard entityTag != nil || lastModified != nil else { return nil }
  }

  /// The header line by which the origin is asked (RFC 9111 section 4.3.1).
  var condition: String {
    guard let entityTag else { return "If-Modified-Since: \(lastModified ?? "")" }
    return "If-None-Match: \(entityTag.isWeak ? "W/" : "")\(entityTag.opaqueTag)"
  }

  /// Whether both ask about the same answer.
  package func isSame(as other: Validators) -> Bool {
    condition == other.condition && issuer == other.issuer
  }
}
