import ImgModel

/// How long a response may be used again (RFC 9111 section 4.2, RFC 5861), for a private cache that
/// makes no guesses: a response that does not say how long is stale at once (section 4.2.2).
///
/// All request fields that may differ are part of a picture's name, so every Vary but `*` matches
/// (section 4.1).
struct Freshness {
  let fields: CachingFields
  /// When the request was sent.
  let requestedAt: WallTime
  /// When the first line of the response came.
  let receivedAt: WallTime
  private let cacheControl: CacheControl

  init(of fields: CachingFields, requestedAt: WallTime, receivedAt: WallTime) {
    self.fields = fields
    self.requestedAt = requestedAt
    self.receivedAt = receivedAt
    cacheControl = fields.cacheControl
  }

  /// Whether the origin allows storing the response (section 3).
  var isStorable: Bool { !cacheControl.forbidsStoring }

  var terms: ReuseTerms {
    guard isStorable else { return .none }
    let staleAt = receivedAt.advanced(by: lifetime - initialAge)
    return ReuseTerms(
      freshUntil: isAlwaysRevalidated ? .distantPast : staleAt,
      staleWhileRevalidateUntil: end(of: cacheControl.staleWhileRevalidate, from: staleAt),
      staleIfErrorUntil: end(of: cacheControl.staleIfError, from: staleAt),
      fields: fields.keptText)
  }

  /// Section 4.2.4: a response that must be revalidated is not used stale, whatever else is
  /// allowed.
  private func end(of seconds: CacheControl.Seconds, from staleAt: WallTime) -> WallTime {
    guard case .given = seconds, !isAlwaysRevalidated, !cacheControl.mustRevalidate else {
      return .distantPast
    }
    return staleAt.advanced(by: seconds.duration)
  }

  private var isAlwaysRevalidated: Bool {
    cacheControl.isNoCache || cacheControl.isBroken || variesByAll
  }

  private var variesByAll: Bool { members(of: .vary).contains("*") }

  /// The freshness lifetime (section 4.2.1).
  private var lifetime: Duration {
    if cacheControl.maxAge != .absent { return cacheControl.maxAge.duration }
    guard let expires = date(.expires) else { return .zero }
    return max(sentAt.duration(to: expires), .zero)
  }

  /// A response without a date is of the moment at which it came (RFC 9110 section 6.6.1).
  private var sentAt: WallTime { date(.date) ?? receivedAt }

  /// The corrected initial age (section 4.2.3).
  private var initialAge: Duration {
    let apparentAge = max(sentAt.duration(to: receivedAt), .zero)
    let responseDelay = max(requestedAt.duration(to: receivedAt), .zero)
    return max(apparentAge, ageValue + responseDelay)
  }

  /// The first member where there are several; other text than a number does not count (section
  /// 5.1).
  private var ageValue: Duration {
    CacheControl.Seconds(members(of: .age).first ?? "").duration
  }

  private func members(of name: HeadField.Name) -> [String] {
    fields[name].map(FieldList.members) ?? []
  }

  private func date(_ name: HeadField.Name) -> WallTime? {
    fields[name].flatMap { HTTPDate($0, now: receivedAt)?.moment }
  }
}
