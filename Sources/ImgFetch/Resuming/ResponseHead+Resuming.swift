import ImgModel

/// What a head says about the identity of its body.
extension ResponseHead {
  /// How much older than the response a date has to be to tell one body from the next: a file may
  /// be written several times within a second, and clocks differ (RFC 9110 section 8.8.2.2).
  private static let strongDateAge = Duration.seconds(60)

  /// What `If-Range` can carry to request the rest of the body: a strong entity tag or, in a
  /// response without any tag, a date that is strong by its age (RFC 9110 section 13.1.5). `nil`
  /// when there is neither.
  var strongValidator: String? {
    guard caching[.entityTag] == nil else {
      return caching.entityTag.flatMap { $0.isWeak ? nil : $0.text }
    }
    // A control character would make it another request. No date has one.
    guard let text = caching[.lastModified], let modified = HTTPDate(text, now: receivedAt),
      let sent = caching[.date].flatMap({ HTTPDate($0, now: receivedAt) }),
      modified.moment.duration(to: sent.moment) >= Self.strongDateAge
    else { return nil }
    return text
  }

  /// Whether the response is of the body that the validator belongs to. A part of it may leave out
  /// the date, not the tag (RFC 9110 section 15.3.7).
  func isOfBody(validatedBy validator: String) -> Bool {
    validator.hasPrefix("\"")
      ? caching[.entityTag] == validator
      : caching[.lastModified] == nil || caching[.lastModified] == validator
  }
}
