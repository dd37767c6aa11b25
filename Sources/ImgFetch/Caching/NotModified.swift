package import ImgModel

/// A response 304 to a conditional request: if it ``matchesCondition``, what is stored still holds.
package struct NotModified: Sendable {
  /// The request's condition.
  package let validators: Validators
  private let fields: CachingFields
  private let requestedAt: WallTime
  private let receivedAt: WallTime
  private let wasRedirected: Bool

  init(
    _ validators: Validators, _ fields: CachingFields, requestedAt: WallTime,
    receivedAt: WallTime, wasRedirected: Bool
  ) {
    self.validators = validators
    self.fields = fields
    self.requestedAt = requestedAt
    self.receivedAt = receivedAt
    self.wasRedirected = wasRedirected
  }

  /// Whether the response is about the stored one. A 304 that names another validator than the
  /// request says nothing about what is stored (RFC 9111 section 4.3.4).
  var matchesCondition: Bool {
    if let tag = fields.entityTag {
      return validators.entityTag.map(tag.isWeaklyEqual) ?? false
    }
    guard let date = fields[.lastModified], validators.entityTag == nil else { return true }
    return date == validators.lastModified
  }

  /// The terms of a record that still holds: its fields, with those of this response in place of
  /// its own (RFC 9111 section 4.3.4).
  package func terms(of record: ReuseTerms) -> ReuseTerms {
    let updated = CachingFields(record).updated(by: fields)
    let terms = Freshness(of: updated, requestedAt: requestedAt, receivedAt: receivedAt).terms
    return wasRedirected ? terms.behindRedirect : terms
  }
}
