package import ImgModel

/// What an answer that came in whole says of its reuse.
package struct AnswerReuse: Hashable, Sendable {
  package let terms: ReuseTerms
  /// Whether the origin lets it be stored.
  package let isStorable: Bool

  package init(terms: ReuseTerms, isStorable: Bool) {
    self.terms = terms
    self.isStorable = isStorable
  }

  init(_ freshness: Freshness, wasRedirected: Bool) {
    self.init(
      terms: wasRedirected ? freshness.terms.behindRedirect : freshness.terms,
      isStorable: freshness.isStorable)
  }
}

/// An answer 304: what was asked about still holds.
package struct NotModified: Sendable {
  /// What was asked about.
  package let validators: Validators
  private let fields: CachingFields
  private let requestedAt: WallTime
  private let answeredAt: WallTime
  private let wasRedirected: Bool

  init(
    _ validators: Validators, _ fields: CachingFields, requestedAt: WallTime,
    answeredAt: WallTime, wasRedirected: Bool
  ) {
    self.validators = validators
    self.fields = fields
    self.requestedAt = requestedAt
    self.answeredAt = answeredAt
    self.wasRedirected = wasRedirected
  }

  /// Whether it is about what was asked: one that names another validator than that says nothing of
  /// what is stored (RFC 9111 section 4.3.4).
  package var isOfWhatWasAsked: Bool {
    if let tag = fields[.entityTag].flatMap(EntityTag.init) {
      return validators.entityTag.map(tag.isWeaklyEqual) ?? false
    }
    guard let date = fields[.lastModified], validators.entityTag == nil else { return true }
    return date == validators.lastModified
  }

  /// The terms of a record that still holds: its fields, with those of this answer in place of its
  /// own (RFC 9111 section 4.3.4).
  package func terms(of record: ReuseTerms) -> ReuseTerms {
    let updated = CachingFields(record).updated(by: fields)
    let terms = Freshness(of: updated, requestedAt: requestedAt, answeredAt: answeredAt).terms
    return wasRedirected ? terms.behindRedirect : terms
  }
}

extension ReuseTerms {
  /// A picture is fresh for as long as every answer that led to it. Redirects seldom say how long
  /// that is, so that one behind a redirect is asked for each time.
  fileprivate var behindRedirect: ReuseTerms {
    ReuseTerms(
      freshUntil: .distantPast, staleWhileRevalidateUntil: .distantPast,
      staleIfErrorUntil: staleIfErrorUntil, fields: fields)
  }
}
