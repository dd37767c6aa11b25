/// The options of one job or one `get`.
package struct RequestOptions: Hashable, Sendable, Codable {
  package var variant: Variant
  /// ``expiry`` in its JSON form: a duration, a date, or neither for the coordinator's default.
  private let expireAfterMilliseconds: Int64?
  private let expireAt: WallTime?
  private let isExpirySliding: Bool
  /// The priority among jobs, −2 (least urgent) to 2 (most urgent). Always in ``priorityRange``.
  package var priority: Int
  /// How long after the submission the first URL may start.
  package let delayMilliseconds: Int64
  package let keep: Keep
  package var fetch: FetchOptions

  package static let priorityRange = -2...2
  /// 1 ms to 100 years, which is longer than any real expiry and does not overflow any clock.
  package static let expiryRangeMilliseconds: ClosedRange<Int64> = 1...36_500 * 86_400_000

  package static let delayRangeMilliseconds: ClosedRange<Int64> = 0...86_400_000

  /// - Precondition: `priority` and `delayMilliseconds` are in their ranges.
  package init(
    variant: Variant, expiry: Expiry = .standard, priority: Int = 0, delayMilliseconds: Int64 = 0,
    keep: Keep = .thumbnail, fetch: FetchOptions = .standard
  ) {
    precondition(Self.priorityRange.contains(priority), "the priority must be from -2 to 2")
    precondition(
      Self.delayRangeMilliseconds.contains(delayMilliseconds), "the delay must be at most one day")
    self.variant = variant
    expireAfterMilliseconds =
      if case .after(let milliseconds) = expiry.moment { milliseconds } else { nil }
    expireAt = if case .at(let date) = expiry.moment { date } else { nil }
    isExpirySliding = expiry.isSliding
    self.priority = priority
    self.delayMilliseconds = delayMilliseconds
    self.keep = keep
    self.fetch = fetch
  }

  /// The options of a request whose delay is over.
  ///
  /// - Parameter fetch: the fetch options of that request.
  package func withoutDelay(fetch: FetchOptions) -> RequestOptions {
    RequestOptions(
      variant: variant, expiry: expiry, priority: priority, keep: keep, fetch: fetch)
  }

  package var expiry: Expiry {
    let moment =
      expireAfterMilliseconds.map { .after(milliseconds: $0) } ?? expireAt.map { .at($0) }
      ?? Expiry.Moment.standard
    return Expiry(moment, isSliding: isExpirySliding)
  }

  private enum CodingKeys: String, CodingKey {
    case variant
    case expireAfterMilliseconds = "expire_after_ms"
    case expireAt = "expire_at"
    case isExpirySliding = "expire_on_access"
    case priority
    case delayMilliseconds = "delay_ms"
    case keep, fetch
  }

  /// Decodes and validates. Throws where the initialiser has a precondition.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let priority = try container.decode(Int.self, forKey: .priority)
    guard Self.priorityRange.contains(priority) else {
      throw DecodingError.dataCorruptedError(
        forKey: .priority, in: container, debugDescription: "the priority must be from -2 to 2")
    }
    let delay = try container.decode(Int64.self, forKey: .delayMilliseconds)
    guard Self.delayRangeMilliseconds.contains(delay) else {
      throw DecodingError.dataCorruptedError(
        forKey: .delayMilliseconds, in: container,
        debugDescription: "the delay must be at most one day")
    }
    self.init(
      variant: try container.decode(Variant.self, forKey: .variant),
      expiry: try Self.expiry(in: container), priority: priority, delayMilliseconds: delay,
      // Journals of older versions have neither.
      keep: try container.decodeIfPresent(Keep.self, forKey: .keep) ?? .thumbnail,
      fetch: try container.decodeIfPresent(FetchOptions.self, forKey: .fetch) ?? .standard)
  }

  /// Journals of older versions have neither dates nor sliding.
  private static func expiry(in container: KeyedDecodingContainer<CodingKeys>) throws -> Expiry {
    let duration = try container.decodeIfPresent(Int64.self, forKey: .expireAfterMilliseconds)
    let date = try container.decodeIfPresent(WallTime.self, forKey: .expireAt)
    let isSliding = try container.decodeIfPresent(Bool.self, forKey: .isExpirySliding) ?? false
    guard duration.map(expiryRangeMilliseconds.contains) ?? true else {
      throw DecodingError.dataCorruptedError(
        forKey: .expireAfterMilliseconds, in: container,
        debugDescription: "the expiry must be from 1 ms to 100 years")
    }
    guard date == nil || duration == nil && !isSliding else {
      throw DecodingError.dataCorruptedError(
        forKey: .expireAt, in: container,
        debugDescription: "the expiry must be a duration or a date, and a date cannot slide")
    }
    if let date { return Expiry(.at(date)) }
    return Expiry(
      duration.map { .after(milliseconds: $0) } ?? .standard, isSliding: isSliding)
  }
}
