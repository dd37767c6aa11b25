import ImgModel

/// How long an answer may be used again (RFC 9111 section 4.2, RFC 5861), for a private cache that
/// makes no guesses: what does not say how long is stale at once (section 4.2.2).
///
/// All fields that are sent and may differ name another picture, so every Vary but `*` matches
/// (section 4.1).
struct Freshness {
  let fields: CachingFields
  /// When its request was sent.
  let requestedAt: WallTime
  /// When its first line came.
  let answeredAt: WallTime
  private let cacheControl: CacheControl

  init(of fields: CachingFields, requestedAt: WallTime, answeredAt: WallTime) {
    self.fields = fields
    self.requestedAt = requestedAt
    self.answeredAt = answeredAt
    cacheControl = CacheControl(fields[.cacheControl] ?? "")
  }

  /// Whether the origin lets it be stored (section 3).
  var isStorable: Bool { !cacheControl.forbidsStoring }

  var terms: ReuseTerms {
    guard isStorable else { return .none }
    let staleAt = answeredAt.advanced(byMilliseconds: lifetime - initialAge)
    return ReuseTerms(
      freshUntil: isAlwaysRevalidated ? .distantPast : staleAt,
      staleWhileRevalidateUntil: end(of: cacheControl.staleWhileRevalidate, from: staleAt),
      staleIfErrorUntil: end(of: cacheControl.staleIfError, from: staleAt),
      fields: fields.keptText)
  }

  /// Section 4.2.4: what must be revalidated is not used stale, whatever else is allowed.
  private func end(of seconds: CacheControl.Seconds, from staleAt: WallTime) -> WallTime {
    guard case .given = seconds, !isAlwaysRevalidated, !cacheControl.mustRevalidate else {
      return .distantPast
    }
    return staleAt.advanced(byMilliseconds: seconds.milliseconds)
  }

  private var isAlwaysRevalidated: Bool {
    cacheControl.isNoCache || cacheControl.isBroken || variesByAll
  }

  private var variesByAll: Bool {
    let names = (fields[.vary] ?? "").split { $0 == "," || $0 == " " || $0 == "\t" }
    return names.contains("*")
  }

  /// Milliseconds of the freshness lifetime (section 4.2.1).
  private var lifetime: Int64 {
    if cacheControl.maxAge != .absent { return cacheControl.maxAge.milliseconds }
    guard let text = fields[.expires], let expires = HTTPDate(text, now: answeredAt) else {
      return 0
    }
    return max(date.milliseconds(to: expires.moment), 0)
  }

  /// An answer without a date is of the moment at which it came (RFC 9110 section 6.6.1).
  private var date: WallTime {
    fields[.date].flatMap { HTTPDate($0, now: answeredAt)?.moment } ?? answeredAt
  }

  /// Milliseconds of the corrected initial age (section 4.2.3).
  private var initialAge: Int64 {
    let apparentAge = max(date.milliseconds(to: answeredAt), 0)
    let responseDelay = max(requestedAt.milliseconds(to: answeredAt), 0)
    return max(apparentAge, ageValue + responseDelay)
  }

  /// The first member where there are several; what is no number does not count (section 5.1).
  private var ageValue: Int64 {
    let first = (fields[.age] ?? "").prefix { !", \t".contains($0) }
    return CacheControl.Seconds(String(first)).milliseconds
  }
}
