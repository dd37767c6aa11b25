/// The options of one job or one `get`.
package struct RequestOptions: Hashable, Sendable, Codable {
  package var variant: Variant
  /// See ``ThumbnailRequest/otherVariants``; fewer than ``ImageVariant/maximumCount``.
  @OtherVariants package private(set) var otherVariants: [Variant]
  /// Whether a damaged picture has a thumbnail, too, as far as the decoder can read it.
  package let isLenient: Bool
  /// ``expiry`` in its JSON form: a duration, a date, or neither for the coordinator's default.
  @OptionalMilliseconds private var expireAfter: Duration?
  private let expireAt: WallTime?
  private let isExpirySliding: Bool
  /// The priority among jobs, or of a `get` among those, −2 (least urgent) to 2 (most urgent). Always in
  /// ``priorityRange``.
  package var priority: Int
  /// How long after the submission the first URL may start.
  @Milliseconds package private(set) var delay: Duration
  package let keep: Keep
  package var fetch: FetchOptions

  package static let priorityRange = -2...2
  /// 1 ms to 100 years, which is longer than any real expiry and does not overflow any clock.
  package static let expiryRange = Duration.milliseconds(1)...Duration.seconds(36_500 * 86_400)

  package static let delayRange = Duration.zero...Duration.seconds(86_400)

  /// - Precondition: `priority` and `delay` are in their ranges.
  package init(
    variant: Variant, otherVariants: [Variant] = [], isLenient: Bool = false,
    expiry: Expiry = .standard, priority: Int = 0, delay: Duration = .zero,
    keep: Keep = .thumbnail, fetch: FetchOptions = .standard
  ) {
    precondition(Self.priorityRange.contains(priority), "the priority must be from -2 to 2")
    precondition(Self.delayRange.contains(delay), "the delay must be at most one day")
    precondition(otherVariants.count < ImageVariant.maximumCount, "a request has few variants")
    self.variant = variant
    self.otherVariants = otherVariants
    self.isLenient = isLenient
    expireAfter = if case .after(let duration) = expiry.moment { duration } else { nil }
    expireAt = if case .at(let date) = expiry.moment { date } else { nil }
    isExpirySliding = expiry.isSliding
    self.priority = priority
    self.delay = delay
    self.keep = keep
    self.fetch = fetch
  }

  /// The options of a request whose delay is over.
  ///
  /// - Parameter fetch: the fetch options of that request.
  package func withoutDelay(fetch: FetchOptions) -> RequestOptions {
    RequestOptions(
      variant: variant, otherVariants: otherVariants, isLenient: isLenient, expiry: expiry,
      priority: priority, keep: keep, fetch: fetch)
  }

  /// What it asks to be made from a URL.
  package var request: ThumbnailRequest {
    ThumbnailRequest(
      variant: variant, otherVariants: otherVariants, isLenient: isLenient, keep: keep, fetch: fetch
    )
  }

  package var expiry: Expiry {
    let moment =
      expireAfter.map { .after($0) } ?? expireAt.map { .at($0) } ?? Expiry.Moment.standard
    return Expiry(moment, isSliding: isExpirySliding)
  }

  private enum CodingKeys: String, CodingKey {
    case variant
    case otherVariants = "other_variants"
    case isLenient = "lenient"
    case expireAfter = "expire_after_ms"
    case expireAt = "expire_at"
    case isExpirySliding = "expire_on_access"
    case priority
    case delay = "delay_ms"
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
    let delay = try container.decode(Milliseconds.self, forKey: .delay).wrappedValue
    guard Self.delayRange.contains(delay) else {
      throw DecodingError.dataCorruptedError(
        forKey: .delay, in: container, debugDescription: "the delay must be at most one day")
    }
    self.init(
      variant: try container.decode(Variant.self, forKey: .variant),
      otherVariants: try container.decode(OtherVariants.self, forKey: .otherVariants).wrappedValue,
      isLenient: try container.decode(Bool.self, forKey: .isLenient),
      expiry: try Self.expiry(in: container), priority: priority, delay: delay,
      keep: try container.decode(Keep.self, forKey: .keep),
      fetch: try container.decode(FetchOptions.self, forKey: .fetch))
  }

  private static func expiry(in container: KeyedDecodingContainer<CodingKeys>) throws -> Expiry {
    let duration = try container.decodeIfPresent(Milliseconds.self, forKey: .expireAfter)?
      .wrappedValue
    let date = try container.decodeIfPresent(WallTime.self, forKey: .expireAt)
    let isSliding = try container.decode(Bool.self, forKey: .isExpirySliding)
    guard duration.map(expiryRange.contains) ?? true else {
      throw DecodingError.dataCorruptedError(
        forKey: .expireAfter, in: container,
        debugDescription: "the expiry must be from 1 ms to 100 years")
    }
    guard date == nil || duration == nil && !isSliding else {
      throw DecodingError.dataCorruptedError(
        forKey: .expireAt, in: container,
        debugDescription: "the expiry must be a duration or a date, and a date cannot slide")
    }
    if let date { return Expiry(.at(date)) }
    return Expiry(duration.map { .after($0) } ?? .standard, isSliding: isSliding)
  }
}

/// What a request asks to be made from a URL. Equal requests for one URL share one fetch, one decode
/// and one result.
package struct ThumbnailRequest: Hashable, Sendable, Codable {
  package let variant: Variant
  /// Further thumbnails of the picture, from the same fetch and the same decode. The result is that of
  /// ``variant``; it counts as done when all of them are.
  @OtherVariants package private(set) var otherVariants: [Variant]
  /// Whether a damaged picture has a thumbnail, too, as far as the decoder can read it.
  package let isLenient: Bool
  package let keep: Keep
  package let fetch: FetchOptions
  /// Whether the worker skips the look-up and does not store the result.
  package let bypassesStore: Bool

  package init(
    variant: Variant, otherVariants: [Variant] = [], isLenient: Bool = false,
    keep: Keep = .thumbnail, fetch: FetchOptions = .standard, bypassesStore: Bool = false
  ) {
    self.variant = variant
    self.otherVariants = otherVariants
    self.isLenient = isLenient
    self.keep = keep
    self.fetch = fetch
    self.bypassesStore = bypassesStore
  }

  /// ``variant`` first.
  package var variants: [Variant] { [variant] + otherVariants }

  private enum CodingKeys: String, CodingKey {
    case variant, keep, fetch
    case otherVariants = "other_variants"
    case isLenient = "lenient"
    case bypassesStore = "no_cache"
  }
}

/// A name that a user gives a picture in place of its URL. Several URLs can share it.
package struct CacheKey: Hashable, Sendable {
  package let text: String

  /// - Throws: ``InvalidFetchOption`` for a text with spaces or control characters, or of a wrong
  ///   length. A URL has neither, and the store's records rely on that to find the end of a name.
  package init(_ text: String) throws(InvalidFetchOption) {
    guard (1...ImageURL.maximumByteCount).contains(text.utf8.count),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
    else {
      throw InvalidFetchOption(
        "a cache key must have 1 to \(ImageURL.maximumByteCount) bytes without spaces and control "
          + "characters")
    }
    self.text = text
  }
}

extension CacheKey: Codable {
  package init(from decoder: any Decoder) throws {
    let decoded = try decoder.singleValueContainer().decode(String.self)
    self = try decoder.checked { try CacheKey(decoded) }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

/// What a client is told of a picture while it arrives, before the answer to its request.
package struct ArrivalUpdates: OptionSet, Hashable, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// What the picture looks like so far.
  package static let previews = ArrivalUpdates(rawValue: 1 << 0)
  /// How much of it has arrived.
  package static let progress = ArrivalUpdates(rawValue: 1 << 1)
}

/// How much of a picture a request needs. Requests for one picture share a transfer if this is equal.
package enum PicturePart: CaseIterable, Hashable, Sendable {
  /// All bytes.
  case whole
  /// All bytes, also where the format is not decoded and only has facts.
  case wholeOfAnyFormat
  /// What tells the facts in front of the pixels.
  case facts
  /// What tells all facts.
  case allFacts

  /// Whether it is all bytes.
  package var isWhole: Bool { self == .whole || self == .wholeOfAnyFormat }
}
