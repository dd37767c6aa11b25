package import ImgModel

extension AnswerReuse {
  init(_ freshness: Freshness, wasRedirected: Bool) {
    self.init(
      terms: wasRedirected ? freshness.terms.behindRedirect : freshness.terms,
      isStorable: freshness.isStorable, isPrivate: freshness.isPrivate)
  }
}

extension AnswerReuse {
  /// What a response that a client has received says of its reuse.
  ///
  /// - Parameter moment: when the coordinator had it from the client.
  package init(ofClientResponse fields: HeaderFields, at moment: WallTime) {
    var head = HeadFields()
    for field in fields { head.take(line: "\(field.name): \(field.value)".utf8) }
    // Whether redirects led to it is not known.
    self.init(
      Freshness(of: CachingFields(head), requestedAt: moment, receivedAt: moment),
      wasRedirected: false)
  }
}

extension ReuseTerms {
  /// A picture is fresh for as long as every response that led to it. Redirects seldom say how long
  /// that is, so a picture behind a redirect is revalidated each time.
  var behindRedirect: ReuseTerms {
    ReuseTerms(
      freshUntil: .distantPast, staleWhileRevalidateUntil: .distantPast,
      staleIfErrorUntil: staleIfErrorUntil, fields: fields)
  }
}

/// The directives of a response's Cache-Control that concern a private cache (RFC 9111 section
/// 5.2.2, RFC 5861). Others, such as `s-maxage` and `public`, are for caches that several users
/// share.
struct CacheControl: Equatable {
  /// A number of seconds as a directive gives it.
  enum Seconds: Equatable {
    case absent
    case given(Int64)
    /// No number, or several that differ: the response counts as stale (section 4.2.1).
    case invalid
  }

  private(set) var maxAge = Seconds.absent
  private(set) var staleWhileRevalidate = Seconds.absent
  private(set) var staleIfError = Seconds.absent
  /// Also where it names fields: nothing of a response is used without them.
  private(set) var isNoCache = false
  private(set) var mustRevalidate = false
  private(set) var isPrivate = false
  private var isNoStore = false
  private var mustUnderstand = false
  /// Whether a directive breaks the grammar. Those after it are not read.
  private(set) var isBroken = false

  /// Whether the origin forbids storing the response. A cache that understands the status code
  /// obeys `must-understand` instead (section 5.2.2.3).
  var forbidsStoring: Bool { isNoStore && !mustUnderstand }

  /// - Parameter text: the values of all its field lines, joined by commas.
  init(_ text: String) {
    for member in FieldList.members(of: text) where !member.isEmpty {
      guard let directive = Directive(member) else {
        isBroken = true
        // It may be in what could not be read.
        if text.lowercased().contains("no-store") { isNoStore = true }
        return
      }
      take(directive)
    }
  }

  private mutating func take(_ directive: Directive) {
    switch directive.name {
    case "max-age": maxAge.take(directive.argument)
    case "stale-while-revalidate": staleWhileRevalidate.take(directive.argument)
    case "stale-if-error": staleIfError.take(directive.argument)
    case "no-cache": isNoCache = true
    case "no-store": isNoStore = true
    case "private": isPrivate = true
    case "must-revalidate": mustRevalidate = true
    case "must-understand": mustUnderstand = true
    default: break
    }
  }
}

extension CacheControl.Seconds {
  /// Larger numbers count as this one (RFC 9111 section 1.2.2).
  private static let maximum: Int64 = 1 << 31

  /// Combines what the field says so far with a further directive of the same name.
  fileprivate mutating func take(_ argument: String?) {
    let taken = argument.map(Self.init) ?? .invalid
    self = self == .absent || self == taken ? taken : .invalid
  }

  /// Reads `delta-seconds`.
  init(_ text: String) {
    self =
      text.isDigits ? .given(min(Int64(text) ?? Self.maximum, Self.maximum)) : .invalid
  }

  /// 0 where no number is given.
  var duration: Duration {
    if case .given(let seconds) = self { .seconds(seconds) } else { .zero }
  }
}

/// A directive: a token and perhaps an argument, which may be quoted (RFC 9110 sections 5.6.2 to
/// 5.6.4).
private struct Directive {
  /// In lower case.
  let name: String
  let argument: String?

  /// - Returns: `nil` for text that breaks the grammar.
  init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    name = Self.takeToken(&rest).lowercased()
    guard !name.isEmpty else { return nil }
    guard rest.popFirst(UInt8(ascii: "=")) else {
      argument = nil
      guard rest.isEmpty else { return nil }
      return
    }
    let isQuoted = rest.popFirst(UInt8(ascii: "\""))
    argument = isQuoted ? Self.takeQuoted(&rest) : Self.takeToken(&rest)
    guard argument != nil, rest.isEmpty else { return nil }
  }

  private static func takeToken(_ rest: inout ArraySlice<UInt8>) -> String {
    let token = rest.prefix { !" \t,;=\"".utf8.contains($0) }
    rest = rest.dropFirst(token.count)
    return String(decoding: token, as: UTF8.self)
  }

  /// After the first quotation mark; `nil` when there is no last one.
  private static func takeQuoted(_ rest: inout ArraySlice<UInt8>) -> String? {
    var text: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        continue
      }
      guard let escaped = rest.popFirst() else { return nil }
      text.append(escaped)
    }
    return nil
  }
}

extension ArraySlice<UInt8> {
  /// Removes the first byte if it is that one.
  fileprivate mutating func popFirst(_ byte: UInt8) -> Bool {
    guard first == byte else { return false }
    removeFirst()
    return true
  }
}

/// The header fields of a response that a cache reads: of a head, or of a record that was kept.
struct CachingFields: Equatable, Sendable {
  /// Fields that a later response may leave out and mean the same, in the order of a record. Date
  /// and Age belong to one response alone.
  private static let keptNames: [HeadField.Name] = [
    .cacheControl, .contentType, .entityTag, .expires, .lastModified, .vary,
  ]
  private static let names = keptNames + [.age, .date]

  /// Longer values are not kept.
  static let maximumKeptByteCount = EntityTag.maximumByteCount

  private var values: [HeadField.Name: String] = [:]
  /// The URL that issued the validators, where a redirect led to it; `nil` for the URL of the
  /// request.
  private(set) var issuer: String?

  /// Begins the line of a record that names the issuer. No line of a head reads like it: the name
  /// of a field is never empty.
  private static let issuerPrefix = ":issuer: "

  /// Those of a head.
  init(_ fields: HeadFields) {
    for name in Self.names { values[name] = fields[name] }
  }

  /// Those of a record.
  init(_ terms: ReuseTerms) {
    var fields = HeadFields()
    var issuer: String?
    for line in terms.fields.split(separator: "\n") {
      if line.hasPrefix(Self.issuerPrefix) {
        issuer = String(line.dropFirst(Self.issuerPrefix.count))
      } else {
        fields.take(line: line.utf8)
      }
    }
    self.init(fields)
    self.issuer = issuer
  }

  subscript(name: HeadField.Name) -> String? { values[name] }

  /// The entity tag; `nil` without one, and for a field that holds no tag.
  var entityTag: EntityTag? { values[.entityTag].flatMap(EntityTag.init) }

  var cacheControl: CacheControl { CacheControl(values[.cacheControl] ?? "") }

  /// The fields as those of a response of that URL. Validators of a URL that is not kept are
  /// dropped, because no later request could name it.
  func issued(by issuer: ValidatorIssuer) -> CachingFields {
    var fields = self
    switch issuer {
    case .requestURL: fields.issuer = nil
    case .redirectTarget(let url): fields.issuer = url
    case .unnamed:
      for name in [HeadField.Name.entityTag, .lastModified] { fields.values[name] = nil }
    }
    return fields
  }

  /// These fields as a newer response of the same URL changes them (RFC 9111 section 3.2).
  func updated(by newer: CachingFields) -> CachingFields {
    var updated = newer
    updated.issuer = issuer
    for name in Self.keptNames where newer.values[name] == nil {
      updated.values[name] = values[name]
    }
    // It is of bytes, which the newer response does not have.
    updated.values[.contentType] = values[.contentType]
    return updated
  }

  /// The text that a record keeps. Values that are too long or not of ASCII are left out.
  var keptText: String {
    let lines = Self.keptNames.compactMap { name -> String? in
      guard let value = values[name], value.utf8.count <= Self.maximumKeptByteCount,
        value.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 == UInt8(ascii: "\t") })
      else { return nil }
      return "\(name.text): \(value)"
    }
    return (issuer.map { ["\(Self.issuerPrefix)\($0)"] + lines } ?? lines)
      .joined(separator: "\n")
  }
}

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

  /// Whether the response is for one user alone (section 5.2.2.7), or may be: its Cache-Control breaks the grammar.
  var isPrivate: Bool { cacheControl.isPrivate || cacheControl.isBroken }

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

/// The URL that issued a response's validators. An entity tag tells apart the responses of one URL
/// (RFC 9110 section 8.8.3): an equal tag of another URL may be of another picture, so a validator
/// is sent only to the URL that issued it.
enum ValidatorIssuer: Hashable {
  /// The URL of the request.
  case requestURL
  /// A URL that a redirect led to.
  case redirectTarget(String)
  /// A URL that a redirect led to and that is not kept, see ``ParsedURL/issuerText``.
  case unnamed

  /// What is kept of it with a validator; `nil` for the URL of the request.
  var redirectTarget: String? {
    if case .redirectTarget(let url) = self { url } else { nil }
  }

  /// - Parameter issuer: what was kept with a validator; `nil` for the URL of the request.
  func `is`(_ issuer: String?) -> Bool {
    switch self {
    case .requestURL: issuer == nil
    case .redirectTarget(let url): issuer == url
    case .unnamed: false
    }
  }
}

/// What a conditional request asks about a stored response: whether it still holds (RFC 9110
/// sections 8.8 and 13.1).
package struct Validators: Equatable, Sendable {
  let entityTag: EntityTag?
  /// The date as the origin wrote it.
  let lastModified: String?
  /// See ``CachingFields/issuer``.
  let issuer: String?

  /// - Returns: `nil` when the record has neither a tag nor a date.
  package init?(_ terms: ReuseTerms) {
    let fields = CachingFields(terms)
    entityTag = fields.entityTag
    lastModified = fields[.lastModified].flatMap { text in
      // A year of two digits names some year at any time.
      HTTPDate(text, now: WallTime(rawValue: 0)).map { _ in text }
    }
    issuer = fields.issuer
    guard entityTag != nil || lastModified != nil else { return nil }
  }

  /// The header line of the condition (RFC 9111 section 4.3.1).
  var condition: String {
    entityTag.map { "If-None-Match: \($0.text)" }
      ?? "If-Modified-Since: \(lastModified ?? "")"
  }

  /// Whether both are conditions on the same response.
  package func isSame(as other: Validators) -> Bool {
    condition == other.condition && issuer == other.issuer
  }
}
