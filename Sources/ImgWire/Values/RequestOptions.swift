/// What a person may ask of the URLs of one job or one `get`, besides the URLs themselves.
package struct RequestOptions: Hashable, Sendable, Codable {
  package let variant: Variant
  /// How long a thumbnail made for this request is kept, counted from its download; `nil` for the
  /// coordinator's default.
  package let expireAfterMilliseconds: Int64?
  /// −2 (least) … 2 (most urgent) among jobs; 0 for a job that says nothing. Always in
  /// ``priorityRange``.
  package var priority: Int
  /// How long to wait before anything is looked up or fetched, from the request on.
  package let delayMilliseconds: Int64

  package static let priorityRange = -2...2
  /// The longest is a century: longer than anything that is kept, and far from overflow in any
  /// clock.
  package static let expiryRangeMilliseconds: ClosedRange<Int64> = 1...36_500 * 86_400_000

  package static let delayRangeMilliseconds: ClosedRange<Int64> = 0...86_400_000

  /// - Precondition: the numbers are in their ranges.
  package init(
    variant: Variant, expireAfterMilliseconds: Int64? = nil, priority: Int = 0,
    delayMilliseconds: Int64 = 0
  ) {
    precondition(Self.priorityRange.contains(priority), "a priority is from -2 to 2")
    precondition(
      expireAfterMilliseconds.map(Self.expiryRangeMilliseconds.contains) ?? true,
      "an expiry is at most a century away")
    precondition(
      Self.delayRangeMilliseconds.contains(delayMilliseconds), "a delay is at most a day")
    self.variant = variant
    self.expireAfterMilliseconds = expireAfterMilliseconds
    self.priority = priority
    self.delayMilliseconds = delayMilliseconds
  }

  private enum CodingKeys: String, CodingKey {
    case variant
    case expireAfterMilliseconds = "expire_after_ms"
    case priority
    case delayMilliseconds = "delay_ms"
  }

  /// Decodes with the initialiser's conditions as errors.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let priority = try container.decode(Int.self, forKey: .priority)
    guard Self.priorityRange.contains(priority) else {
      throw DecodingError.dataCorruptedError(
        forKey: .priority, in: container, debugDescription: "a priority is from -2 to 2")
    }
    let expiry = try container.decodeIfPresent(Int64.self, forKey: .expireAfterMilliseconds)
    guard expiry.map(Self.expiryRangeMilliseconds.contains) ?? true else {
      throw DecodingError.dataCorruptedError(
        forKey: .expireAfterMilliseconds, in: container,
        debugDescription: "an expiry is from 1 ms to a century")
    }
    let delay = try container.decode(Int64.self, forKey: .delayMilliseconds)
    guard Self.delayRangeMilliseconds.contains(delay) else {
      throw DecodingError.dataCorruptedError(
        forKey: .delayMilliseconds, in: container, debugDescription: "a delay is at most a day")
    }
    self.init(
      variant: try container.decode(Variant.self, forKey: .variant),
      expireAfterMilliseconds: expiry, priority: priority, delayMilliseconds: delay)
  }
}
