/// Decides when the store answers a request and when the origin does.
package enum CachePolicy: String, Hashable, Sendable, FieldValue, CaseIterable {
  /// Follows HTTP (RFC 9111): a fresh record is a hit, and a stale record is revalidated. A response
  /// with `no-store` is not stored, see ``ThumbnailRequest/obeysNoStore``.
  case byProtocol = "protocol"
  /// Always fetches from the origin.
  case reload
  /// A record in the store that has not expired is a hit. Otherwise fetches from the origin.
  case cacheElseLoad = "cache-else-load"
  /// A record in the store that has not expired is a hit. Never sends a request to the origin.
  case cacheOnly = "cache-only"

  /// Whether a remembered 404 or 410 answers a request.
  package var heedsRememberedFailures: Bool {
    switch self {
    case .cacheElseLoad, .cacheOnly: true
    case .byProtocol, .reload: false
    }
  }

  /// Whether a record of the store answers without a request to the origin.
  ///
  /// - Parameters:
  ///   - terms: the record's HTTP freshness.
  ///   - now: a moment before the record's expiry.
  package func accepts(_ terms: ReuseTerms, at now: WallTime) -> Bool {
    switch self {
    case .byProtocol: terms.isFresh(at: now)
    case .reload: false
    case .cacheElseLoad, .cacheOnly: true
    }
  }
}

/// The expiry that one request asks for.
package struct Expiry: Hashable, Sendable, Fielded {
  package enum Moment: Hashable, Sendable {
    /// The coordinator's default duration when the fetch starts, from the download on.
    case standard
    /// A duration from the download on, in ``RequestOptions/expiryRange``.
    case after(Duration)
    /// A date, independent of the download.
    case at(WallTime)
  }

  package let moment: Moment
  /// Whether each access restarts the duration. A date is fixed, so it cannot slide.
  package let isSliding: Bool

  package static let standard = Expiry(.standard)

  /// - Precondition: a duration is in its range, and a date does not slide.
  package init(_ moment: Moment, isSliding: Bool = false) {
    switch moment {
    case .standard: break
    case .after(let duration):
      precondition(
        RequestOptions.expiryRange.contains(duration), "the expiry must be from 1 ms to 100 years")
    case .at: precondition(!isSliding, "an expiry date cannot slide")
    }
    self.moment = moment
    self.isSliding = isSliding
  }

  /// A duration, a date, or neither for the coordinator's default. They are beside the members of what has the expiry.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    let duration = try f.optional("expire_after_ms", value?.duration)
    let date = try f.optional("expire_at", value?.date)
    let isSliding = try f.field("expire_on_access", value?.isSliding)
    guard duration.map(RequestOptions.expiryRange.contains) ?? true else {
      throw f.invalid("expire_after_ms", "the expiry must be from 1 ms to 100 years")
    }
    guard date == nil || duration == nil && !isSliding else {
      throw f.invalid(
        "expire_at", "the expiry must be a duration or a date, and a date cannot slide")
    }
    moment = date.map { .at($0) } ?? duration.map { .after($0) } ?? .standard
    self.isSliding = isSliding
  }

  /// Of a duration that the request names.
  package var duration: Duration? {
    if case .after(let duration) = moment { duration } else { nil }
  }

  /// Of a date that the request names.
  package var date: WallTime? { if case .at(let date) = moment { date } else { nil } }

  /// The retention of a thumbnail that is made for the request.
  package func retention(defaultExpiry: Duration) -> Retention {
    switch moment {
    case .standard: retention(of: defaultExpiry)
    case .after(let duration): retention(of: duration)
    case .at(let date): Retention(until: date)
    }
  }

  /// The retention that the request adds to a thumbnail already in the store. The default applies
  /// only to newly stored thumbnails, except that a sliding default restarts on this access.
  package func retentionOfStored(defaultExpiry: Duration) -> Retention {
    guard case .standard = moment else { return retention(defaultExpiry: defaultExpiry) }
    return Retention(sliding: isSliding ? defaultExpiry : .zero)
  }

  private func retention(of duration: Duration) -> Retention {
    Retention(after: duration, sliding: isSliding ? duration : .zero)
  }
}

/// How long the store keeps a thumbnail: the union of what its requests ask for. The longest value of
/// each kind wins, so no request shortens the retention of another. ``Keep`` says what is stored.
package struct Retention: Hashable, Sendable, Fielded {
  /// The duration from the download on; 0 if no request names one.
  package private(set) var after: Duration
  /// The earliest end; `nil` if no request names a date.
  package private(set) var until: WallTime?
  /// The duration from each access on; 0 if accesses do not extend the retention.
  package private(set) var sliding: Duration
  /// The jobs that pin the thumbnail, see ``PinPolicy``, in ascending order.
  package private(set) var pins: [JobID]

  /// No retention, unless arguments are given.
  ///
  /// - Precondition: `pins` are in ascending order.
  package init(
    after: Duration = .zero, until: WallTime? = nil, sliding: Duration = .zero, pins: [JobID] = []
  ) {
    self.after = after
    self.until = until
    self.sliding = sliding
    self.pins = pins
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    after = try f.field("expire_after_ms", value?.after)
    until = try f.optional("expire_at", value?.until)
    sliding = try f.field("expire_on_access_ms", value?.sliding)
    pins = try f.field("pins", value?.pins, default: [])
  }

  package static func coded(
    _ f: inout Fields, _ value: Self?
  ) throws(FieldError) -> Self {
    // One that names a date or jobs is one of many equal ones; others change from batch to batch.
    try f.remembered(f.memory?.retention, value) { $0.until != nil || !$0.pins.isEmpty }
  }

  /// The same for a thumbnail that no job pins.
  package var withoutPins: Retention { Retention(after: after, until: until, sliding: sliding) }

  /// The expiry of a thumbnail that is stored at `storedAt` and not accessed: the later of the two
  /// ends, even if it is in the past. Without a retention, it is `storedAt`.
  package func expiresAt(storedAt: WallTime) -> WallTime {
    let end = storedAt.advanced(by: after)
    guard let until else { return end }
    return after > .zero ? max(until, end) : until
  }

  package mutating func formUnion(_ other: Retention) {
    after = max(after, other.after)
    if let end = other.until { until = until.map { max($0, end) } ?? end }
    sliding = max(sliding, other.sliding)
    guard !other.pins.isEmpty, pins != other.pins else { return }
    pins = pins.isEmpty ? other.pins : Set(pins).union(other.pins).sorted()
  }

  /// Whether this retention is at least as long as the other in every kind.
  package func covers(_ other: Retention) -> Bool {
    var union = self
    union.formUnion(other)
    return union == self
  }
}

/// The retention policy of a request: what the store keeps of a picture. ``Retention`` says for how
/// long.
package enum Keep: String, CaseIterable, Hashable, Sendable, FieldValue {
  /// Nothing. The next request fetches again.
  case none
  case thumbnail
  /// The thumbnail and, where that is cheap, the original: up to `Limits.autoOriginalByteCount`, in a share of
  /// the store, evicted before all else. Not one whose origin forbids to store it, or permits it to one user
  /// alone.
  case auto
  /// The body as the origin sent it. Any thumbnail can be made from it without another fetch.
  case original
  /// The same, without a decode: the header alone is checked. What the pixels are shows when a thumbnail is
  /// made.
  case undecodedOriginal = "undecoded-original"
  /// The thumbnail and the original.
  case all
  /// The facts of the picture, such as its size and its metadata, as JSON. They are read from as few
  /// bytes as they take, and are the result in place of a thumbnail.
  case facts
  /// The same with the facts for which the whole file is walked through.
  case allFacts = "all-facts"
  /// The same with those for which the pixels are decoded: placeholders and colours.
  case pixelFacts = "pixel-facts"

  /// Whether the result is the facts of the picture.
  package var isFacts: Bool { [.facts, .allFacts, .pixelFacts].contains(self) }
  package var includesThumbnail: Bool { [.thumbnail, .auto, .all].contains(self) }
  /// Whether what is made from the picture is stored.
  package var includesResult: Bool { includesThumbnail || isFacts }
  /// Whether nothing but the original is stored, which then is the result.
  package var isOriginalAlone: Bool { self == .original || self == .undecodedOriginal }
  /// Whether the original is stored in any case.
  package var includesOriginal: Bool { isOriginalAlone || self == .all }

  /// The policy without the original.
  package var withoutOriginal: Keep {
    switch self {
    case .none, .original, .undecodedOriginal: .none
    case .thumbnail, .auto, .all: .thumbnail
    case .facts, .allFacts, .pixelFacts: self
    }
  }

  /// How much of the picture is needed.
  package var part: PicturePart {
    switch self {
    case .none, .thumbnail, .auto, .original, .undecodedOriginal, .all: .whole
    case .facts: .facts
    case .allFacts: .allFacts
    case .pixelFacts: .wholeOfAnyFormat
    }
  }
}

/// The HTTP freshness of a stored response: the moments that follow from its header fields by
/// RFC 9111 and RFC 5861.
package struct ReuseTerms: Hashable, Sendable {
  /// The response is stale from this moment on.
  package let freshUntil: WallTime
  /// Until this moment a stale response may be served while it is revalidated.
  package let staleWhileRevalidateUntil: WallTime
  /// Until this moment a stale response may be served if the origin fails.
  package let staleIfErrorUntil: WallTime
  /// The header fields that revalidation, a 304 and an export need, one a line. Where a redirect led to another
  /// URL, that is the field `:issuer`. The field `:stored` has the ``bytesStorageTime``.
  package let fields: String

  /// A response that is always stale and cannot be revalidated.
  package static let none = ReuseTerms(
    freshUntil: .distantPast, staleWhileRevalidateUntil: .distantPast,
    staleIfErrorUntil: .distantPast, fields: "")

  package init(
    freshUntil: WallTime, staleWhileRevalidateUntil: WallTime, staleIfErrorUntil: WallTime,
    fields: String
  ) {
    self.freshUntil = freshUntil
    self.staleWhileRevalidateUntil = staleWhileRevalidateUntil
    self.staleIfErrorUntil = staleIfErrorUntil
    self.fields = fields
  }

  /// Begins the line of the ``bytesStorageTime``. No field has such a name.
  private static let storagePrefix = ":stored: "

  /// When the bytes of a record were stored that its origin has confirmed since; `nil` if it never has.
  package var bytesStorageTime: WallTime? {
    let line = fields.split(separator: "\n").first { $0.hasPrefix(Self.storagePrefix) }
    return line.flatMap { Int64($0.dropFirst(Self.storagePrefix.count)) }
      .map(WallTime.init(rawValue:))
  }

  /// The terms of a record that its origin has confirmed.
  ///
  /// - Parameter moment: when its bytes were stored.
  package func confirming(bytesStoredAt moment: WallTime) -> ReuseTerms {
    let others = fields.split(separator: "\n").filter { !$0.hasPrefix(Self.storagePrefix) }
    return ReuseTerms(
      freshUntil: freshUntil, staleWhileRevalidateUntil: staleWhileRevalidateUntil,
      staleIfErrorUntil: staleIfErrorUntil,
      fields: (others + ["\(Self.storagePrefix)\(moment.rawValue)"]).joined(separator: "\n"))
  }

  package func isFresh(at now: WallTime) -> Bool { now < freshUntil }

  package func servesWhileRevalidating(at now: WallTime) -> Bool {
    now < staleWhileRevalidateUntil
  }

  package func servesAfterError(at now: WallTime) -> Bool { now < staleIfErrorUntil }
}

/// What a complete answer says of its reuse.
package struct AnswerReuse: Hashable, Sendable {
  package let terms: ReuseTerms
  /// Whether the origin permits it to be stored.
  package let isStorable: Bool
  /// Whether it is for one user alone: `private` (RFC 9111 section 5.2.2.7).
  package let isPrivate: Bool

  package init(terms: ReuseTerms, isStorable: Bool, isPrivate: Bool = false) {
    self.terms = terms
    self.isStorable = isStorable
    self.isPrivate = isPrivate
  }
}

/// What a later transfer needs to know to resume a partial body.
package struct ResumeState: Hashable, Sendable {
  /// A shorter partial body is not worth a range request.
  package static let minimumByteCount = 64 << 10

  /// Identifies the body, as `If-Range` carries it.
  package let validator: String
  /// The URL that issued the validator, where a redirect led to it; `nil` for the URL of the
  /// request. The validator is sent to no other URL: another body may have an equal one.
  package let issuer: String?
  /// The length of the whole; `nil` where the origin did not say.
  package let completeByteCount: Int?
  /// Bytes of bodies that the origin sent for it, in all transfers so far.
  package let receivedByteCount: Int

  package init(
    validator: String, issuer: String? = nil, completeByteCount: Int?, receivedByteCount: Int
  ) {
    self.validator = validator
    self.issuer = issuer
    self.completeByteCount = completeByteCount
    self.receivedByteCount = receivedByteCount
  }
}
