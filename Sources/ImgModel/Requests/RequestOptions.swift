/// The options of one job or one `get`.
@dynamicMemberLookup
package struct RequestOptions: Hashable, Sendable, Fielded {
  /// What it asks to be made from a URL.
  package var request: ThumbnailRequest
  package let expiry: Expiry
  /// The priority among jobs, or of a `get` among those, −2 (least urgent) to 2 (most urgent). Always in
  /// ``priorityRange``.
  package var priority: Int
  /// How long after the submission the first URL may start.
  package private(set) var delay: Duration
  /// How long a `get` waits for its result, from its arrival or the end of its delay; of a job, how long a URL may
  /// take from the moment at which its fetch or its decode begins. `nil` for no limit but those of the cluster. Always
  /// in ``timeoutRange``.
  package private(set) var timeout: Duration?
  /// The maximum rate of transfer starts at one host for a job, beside that of the cluster; 0 for none. Always in
  /// ``LimitChange/hostRateRange``.
  package private(set) var hostRatePerMinute: Int
  /// The maximum number of transfers of one URL, if the cluster does not permit fewer; `nil` for
  /// ``Limits/attempts``. Always in ``attemptRange``.
  package private(set) var attempts: Int?

  package static let priorityRange = -2...2
  /// 1 ms to 100 years, which is longer than any real expiry and does not overflow any clock.
  package static let expiryRange = Duration.milliseconds(1)...Duration.seconds(36_500 * 86_400)

  package static let delayRange = Duration.zero...Duration.seconds(86_400)
  package static let timeoutRange = Duration.milliseconds(1)...Duration.seconds(86_400)
  package static let attemptRange = 1...100

  /// - Precondition: all are in their ranges.
  package init(
    _ request: ThumbnailRequest, expiry: Expiry = .standard, priority: Int = 0,
    delay: Duration = .zero, timeout: Duration? = nil, hostRatePerMinute: Int = 0,
    attempts: Int? = nil
  ) {
    precondition(Self.priorityRange.contains(priority), "the priority must be from -2 to 2")
    precondition(Self.delayRange.contains(delay), "the delay must be at most one day")
    precondition(
      timeout.map(Self.timeoutRange.contains) ?? true, "the timeout must be from 1 ms to one day")
    precondition(LimitChange.hostRateRange.contains(hostRatePerMinute), "the rate is out of range")
    precondition(attempts.map(Self.attemptRange.contains) ?? true, "attempts are from 1 to 100")
    self.request = request
    self.expiry = expiry
    self.priority = priority
    self.delay = delay
    self.timeout = timeout
    self.hostRatePerMinute = hostRatePerMinute
    self.attempts = attempts
  }

  /// The same with the parts of the request.
  package init(
    variant: Variant, otherVariants: [Variant] = [], isLenient: Bool = false,
    expiry: Expiry = .standard, priority: Int = 0, delay: Duration = .zero,
    timeout: Duration? = nil, hostRatePerMinute: Int = 0, attempts: Int? = nil,
    keep: Keep = .thumbnail, fetch: FetchOptions = .standard
  ) {
    let request = ThumbnailRequest(
      variant: variant, otherVariants: otherVariants, isLenient: isLenient, keep: keep, fetch: fetch
    )
    self.init(
      request, expiry: expiry, priority: priority, delay: delay, timeout: timeout,
      hostRatePerMinute: hostRatePerMinute, attempts: attempts)
  }

  package subscript<Member>(
    dynamicMember member: WritableKeyPath<ThumbnailRequest, Member>
  ) -> Member {
    get { request[keyPath: member] }
    set { request[keyPath: member] = newValue }
  }

  /// The options of a request whose delay is over.
  ///
  /// - Parameter fetch: the fetch options of that request.
  package func withoutDelay(fetch: FetchOptions) -> RequestOptions {
    var options = self
    options.delay = .zero
    options.request.fetch = fetch
    return options
  }

  /// Reads and validates. Throws where the initialiser has a precondition. The members of the request are
  /// beside the others.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    attempts = try f.optional("attempts", value?.attempts)
    guard attempts.map(Self.attemptRange.contains) ?? true else {
      throw f.invalid("attempts", "attempts are from 1 to 100")
    }
    delay = try f.field("delay_ms", value?.delay)
    guard Self.delayRange.contains(delay) else {
      throw f.invalid("delay_ms", "the delay must be at most one day")
    }
    expiry = try Expiry(&f, value?.expiry)
    hostRatePerMinute = try f.field("host_rate_per_minute", value?.hostRatePerMinute, default: 0)
    guard LimitChange.hostRateRange.contains(hostRatePerMinute) else {
      throw f.invalid("host_rate_per_minute", "the rate is out of range")
    }
    request = try ThumbnailRequest(&f, value?.request)
    priority = try f.field("priority", value?.priority)
    guard Self.priorityRange.contains(priority) else {
      throw f.invalid("priority", "the priority must be from -2 to 2")
    }
    timeout = try f.optional("timeout_ms", value?.timeout)
    guard timeout.map(Self.timeoutRange.contains) ?? true else {
      throw f.invalid("timeout_ms", "the timeout must be from 1 ms to one day")
    }
  }

  package static func coded(
    _ f: inout Fields, _ value: Self?
  ) throws(FieldError) -> Self {
    try f.remembered(f.memory?.options, value)
  }
}

/// What a request asks to be made from a URL. Equal requests for one URL share one fetch, one decode
/// and one result.
package struct ThumbnailRequest: Hashable, Sendable, Fielded {
  package var variant: Variant
  /// Further thumbnails of the picture, from the same fetch and the same decode. The result is that of
  /// ``variant``; it counts as done when all of them are. Fewer than ``ImageVariant/maximumCount``.
  package var otherVariants: [Variant]
  /// Whether a damaged picture has a thumbnail, too, as far as the decoder can read it.
  package var isLenient: Bool
  package var keep: Keep
  package var fetch: FetchOptions
  /// Whether the worker skips the look-up and does not store the result.
  package var bypassesStore: Bool

  package init(
    variant: Variant, otherVariants: [Variant] = [], isLenient: Bool = false,
    keep: Keep = .thumbnail, fetch: FetchOptions = .standard, bypassesStore: Bool = false
  ) {
    precondition(otherVariants.count < ImageVariant.maximumCount, "a request has few variants")
    self.variant = variant
    self.otherVariants = otherVariants
    self.isLenient = isLenient
    self.keep = keep
    self.fetch = fetch
    self.bypassesStore = bypassesStore
  }

  /// ``variant`` first.
  package var variants: [Variant] { [variant] + otherVariants }

  /// Whether a picture is not stored if its origin forbids storing it (`no-store`): the request follows HTTP, and
  /// caches. What asks for an original saves what it fetches, as a browser does on demand: the record is always stale and
  /// has no validator, so it answers no other request that follows HTTP (RFC 9111 section 5.2.2.5).
  package var obeysNoStore: Bool {
    fetch.cachePolicy == .byProtocol && !keep.includesOriginal
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    fetch = try f.field("fetch", value?.fetch)
    keep = try f.field("keep", value?.keep)
    isLenient = try f.field("lenient", value?.isLenient)
    bypassesStore = try f.field("no_cache", value?.bypassesStore, default: false)
    otherVariants = try Self.otherVariants(&f, value?.otherVariants)
    variant = try f.field("variant", value?.variant)
  }

  package static func coded(
    _ f: inout Fields, _ value: Self?
  ) throws(FieldError) -> Self {
    try f.remembered(f.memory?.request, value)
  }

  private static func otherVariants(
    _ f: inout Fields, _ value: [Variant]?
  ) throws(FieldError) -> [Variant] {
    let variants = try f.field("other_variants", value, default: [])
    guard variants.count < ImageVariant.maximumCount else {
      throw f.invalid(
        "other_variants", "a request has at most \(ImageVariant.maximumCount) variants")
    }
    return variants
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

/// How operators of origins can reach the user: a mail address or a URL in the User-Agent of requests.
package struct Contact: Hashable, Sendable {
  package let text: String

  package static let maximumByteCount = 200

  /// - Throws: ``InvalidFetchOption`` for a text that is neither, or not safe inside a comment (RFC 9110 section
  ///   5.6.5).
  package init(_ text: String) throws(InvalidFetchOption) {
    let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"()\\".utf8.contains($0) }
    guard isPlain, text.utf8.count <= Self.maximumByteCount,
      Self.isURL(text) || Self.isMailAddress(text)
    else {
      throw InvalidFetchOption(
        "\"\(text)\" is neither a mail address nor a URL; write name@example.org or "
          + "https://example.org/bot")
    }
    self.text = text
  }

  /// The User-Agent of a request (RFC 9110 section 10.1.5).
  package static func userAgent(with contact: Contact?) -> String {
    "imgctl/\(Build.version)" + (contact.map { " (+\($0.text))" } ?? "")
  }

  private static func isURL(_ text: String) -> Bool {
    (try? ImageURL(parsing: text)).map { !$0.isLocal } ?? false
  }

  private static func isMailAddress(_ text: String) -> Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !text.contains("/") else { return false }
    return parts[1].split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
      !label.isEmpty && label.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" }
    }
  }
}

extension Contact: WrappingValue {
  package var coded: String { text }

  package init(coded text: String) throws { try self.init(text) }
}

extension CacheKey: WrappingValue {
  package var coded: String { text }

  package init(coded text: String) throws { try self.init(text) }
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
  /// With ``previews``: also the first rows of a picture that shows nothing else of itself before its end.
  package static let rows = ArrivalUpdates(rawValue: 1 << 2)
}

extension ArrivalUpdates: FieldValue {}

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

/// A value of the library that may be out of range until it is checked.
package protocol Checkable: Hashable, Sendable {
  associatedtype Defect: Error

  /// The value in its normal form: values with the same meaning are equal in it.
  ///
  /// - Throws: what is out of range.
  func checked() throws(Defect) -> Self
}

/// A value that is in range and in its normal form. What takes one need not check it again.
@dynamicMemberLookup
package struct Checked<Value: Checkable>: Hashable, Sendable {
  package let value: Value

  package init(_ value: Value) throws(Value.Defect) {
    self.value = try value.checked()
  }

  /// - Parameter value: a value that ``Checkable/checked()`` returns as it is.
  init(unchecked value: Value) {
    self.value = value
  }

  package subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member {
    value[keyPath: member]
  }

  /// The value after a change.
  package func changed(_ change: (inout Value) -> Void) throws(Value.Defect) -> Self {
    var value = value
    change(&value)
    return try Self(value)
  }
}

extension Checked: WrappingValue, FieldValue, Codable where Value: FieldValue {
  package var coded: Value { value }

  package init(coded value: Value) throws { try self.init(value) }
}
