/// How the pictures of one job or one `get` are found in the store and fetched from origins.
package struct FetchOptions: Hashable, Sendable, Fielded {
  package var cachePolicy: CachePolicy
  /// Header fields that are added to each request to the origin. They are not sent to another origin
  /// after a redirect.
  package var headers: HeaderFields
  package var referer: Referer
  /// The cookies of a user's file. In JSON they are left out where there are none.
  package var cookies: Cookies
  /// The query parameters that are not part of the picture's name.
  package var ignoredQuery: QueryFilter
  /// The picture's name; `nil` if the URL is the name.
  package var cacheKey: CacheKey?
  /// Whether a picture fails if its origin opts out in an `X-Robots-Tag`.
  package var respectsOptOut: Bool
  /// Whether a picture fails if its origin's robots.txt disallows it (RFC 9309).
  package var respectsRobots: Bool
  /// The origins that redirects may lead to. In JSON they are left out where every origin is permitted.
  package var redirectOrigins: OriginList
  /// Is in the User-Agent of the requests; `nil` for ``Limits/contact``. No part of a picture's name. Requests that
  /// share a fetch share that of the one that began it.
  package var contact: Contact?

  /// The defaults.
  package static let standard = FetchOptions()

  package init(
    cachePolicy: CachePolicy = .cacheElseLoad, headers: HeaderFields = .none,
    referer: Referer = .none, cookies: Cookies = .none, ignoredQuery: QueryFilter = .none,
    cacheKey: CacheKey? = nil,
    respectsOptOut: Bool = false,
    respectsRobots: Bool = false, redirectOrigins: OriginList = .all, contact: Contact? = nil
  ) {
    self.cachePolicy = cachePolicy
    self.headers = headers
    self.referer = referer
    self.cookies = cookies
    self.ignoredQuery = ignoredQuery
    self.cacheKey = cacheKey
    self.respectsOptOut = respectsOptOut
    self.respectsRobots = respectsRobots
    self.redirectOrigins = redirectOrigins
    self.contact = contact
  }

  /// The name under which the picture of a URL is stored.
  package func name(of url: ImageURL) -> PictureName {
    let sent = cookies.matching(url)
    let fields = headers(for: url).coded
    return PictureName(
      text: nameText(of: url),
      headers: sent.isEmpty ? fields : fields + [HeaderField(cookies: sent)])
  }

  /// The options of a request for the URL, without the header fields and cookies that are for others.
  package func narrowed(to url: ImageURL) -> FetchOptions {
    var options = self
    options.headers = headers.sent(to: url)
    options.cookies = cookies.matching(url)
    return options
  }

  /// Whether they are the same for every URL, see ``narrowed(to:)``.
  package var isForEveryURL: Bool { headers.boundToHosts.isEmpty && cookies.isEmpty }

  /// What of the options may be secret.
  package var secrets: RequestSecrets {
    get { RequestSecrets(headers: headers, cookies: cookies) }
    set { (headers, cookies) = (newValue.headers, newValue.cookies) }
  }

  /// The header fields that are added to a request for a URL.
  ///
  /// - Parameter isOwnOrigin: whether it has the origin of the URL that the options are for, which another
  ///   scheme or port of the same host has not.
  package func headers(for url: ImageURL, isOwnOrigin: Bool = true) -> HeaderFields {
    let fields = isOwnOrigin ? headers.sent(to: url) : .none
    return referer.field(for: url).map(fields.adding) ?? fields
  }

  /// The options without what is for the origin of one URL alone: for a URL of another origin, and from
  /// where a redirect has led to one (RFC 9110 section 15.4).
  package var forOtherOrigin: FetchOptions {
    var options = self
    options.headers = headers.boundToHosts
    return options
  }

  /// The query filter does not apply to `data:` and `file:` URLs.
  private func nameText(of url: ImageURL) -> String {
    if let cacheKey { return cacheKey.text }
    return url.isLocal ? url.text : ignoredQuery.filtered(url.text)
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    cacheKey = try f.optional("cache_key", value?.cacheKey)
    cachePolicy = try f.field("cache_policy", value?.cachePolicy)
    contact = try f.optional("contact", value?.contact)
    cookies = try f.field("cookies", value?.cookies, default: .none)
    headers = try f.field("headers", value?.headers)
    ignoredQuery = try f.field("ignore_query", value?.ignoredQuery)
    redirectOrigins = try f.field("redirect_origins", value?.redirectOrigins, default: .all)
    referer = try f.field("referer", value?.referer, default: .none)
    respectsOptOut = try f.field("respect_opt_out", value?.respectsOptOut)
    respectsRobots = try f.field("respect_robots", value?.respectsRobots)
  }
}

/// The parts of ``FetchOptions`` that may be secret.
package struct RequestSecrets: Hashable, Sendable, Fielded {
  package var headers: HeaderFields
  package var cookies: Cookies

  package static let none = RequestSecrets(headers: .none, cookies: .none)

  package init(headers: HeaderFields, cookies: Cookies) {
    self.headers = headers
    self.cookies = cookies
  }

  package var isEmpty: Bool { headers.isEmpty && cookies.isEmpty }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    cookies = try f.field("cookies", value?.cookies)
    headers = try f.field("headers", value?.headers)
  }
}

/// A header field (RFC 9110 section 5) that a user adds to requests.
///
/// Its value may be a secret: logs and outputs for people omit it, see ``encode(to:)``.
package struct HeaderField: Hashable, Sendable {
  /// In lower case, because names are case-insensitive (RFC 9110 section 5.1).
  package let name: String
  /// Without surrounding white space, which is not part of a value (RFC 9110 section 5.5).
  package let value: String
  /// The host whose URLs it is sent with, see ``ImageURL/host``; `nil` for every URL that it is given for.
  /// Redirects to another origin get it in neither case.
  package let host: String?
  /// Whether the value was removed, see ``withoutValue``.
  private let lacksValue: Bool

  /// - Throws: ``InvalidFetchOption`` for an invalid name or value, and for a field that users may
  ///   not set. The error text does not contain the value.
  package init(name: String, value: String) throws(InvalidFetchOption) {
    try self.init(name: name, value: value, onlyTo: nil)
  }

  /// - Parameter host: see ``host``.
  /// - Throws: as ``init(name:value:)`` does.
  package init(name: String, value: String, onlyTo host: String?) throws(InvalidFetchOption) {
    guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else {
      throw InvalidFetchOption(
        "a header name must consist of letters, digits and !#$%&'*+-.^_`|~")
    }
    let name = name.lowercased()
    if let reason = Self.reasonForRefusing(name) {
      throw InvalidFetchOption("the header \(name) cannot be set: \(reason)")
    }
    let bytes = value.utf8.withoutOuterWhiteSpace
    guard bytes.allSatisfy(Self.isValueByte) else {
      throw InvalidFetchOption("the value of the header \(name) contains a control character")
    }
    self.name = name
    self.value = String(decoding: bytes, as: UTF8.self)
    self.host = host
    lacksValue = false
  }

  /// The field of cookies, for the name of a picture: libcurl writes the one that is sent.
  init(cookies: Cookies) {
    name = "cookie"
    value = cookies.text
    host = nil
    lacksValue = false
  }

  private init(withoutValue field: HeaderField) {
    name = field.name
    value = ""
    host = field.host
    lacksValue = true
  }

  /// The field for a use that must not know the value.
  package var withoutValue: HeaderField { HeaderField(withoutValue: self) }

  /// RFC 9110 section 5.6.2.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    byte.isASCIIAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }

  /// RFC 9110 section 5.5: no control characters except the tab. CR, LF and NUL would begin another
  /// field.
  private static func isValueByte(_ byte: UInt8) -> Bool {
    byte == 0x09 || (byte >= 0x20 && byte != 0x7F)
  }

  private static func reasonForRefusing(_ name: String) -> String? {
    switch name {
    case "host", "content-length":
      "imgctl sets it itself"
    // RFC 9110 section 7.6.1; RFC 9113 section 3.1 for the last one.
    case "connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
      "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings":
      "it controls the connection, not the request"
    case "expect":
      "a request for a picture has no body"
    case "range":
      "imgctl requests whole pictures"
    case "accept-encoding":
      "imgctl requests pictures without content encoding"
    case "cookie", "cookie2":
      "--cookies FILE sends cookies to their own sites alone"
    case _ where name.hasPrefix("if-"):
      "imgctl sends its own conditions when it revalidates"
    default: nil
    }
  }
}

extension HeaderField: Fielded {
  /// Omits the value if it was removed, or if the output is for people. A program that reads such an output has
  /// the field without its value; messages and the journal have all values.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    let host = try f.optional("host", value?.host)
    let name = try f.field("name", value?.name)
    if let value {
      if !value.lacksValue { try f.secret("value", value.value) }
      self = value
    } else {
      let text: String? = try f.optional("value", nil)
      guard text != nil || f.hasContainer else { throw f.missing("value") }
      let field = try f.checked("value") { () throws(InvalidFetchOption) in
        try HeaderField(name: name, value: text ?? "", onlyTo: host)
      }
      self = text == nil ? field.withoutValue : field
    }
  }
}

/// Header fields, sorted by name so that equal sets compare equal. Fields of one name keep their
/// order, because it may matter (RFC 9110 section 5.3).
package struct HeaderFields: Hashable, Sendable {
  private let fields: [HeaderField]

  package static let maximumCount = 32
  /// The total size of the fields on the wire.
  package static let maximumByteCount = 8 << 10

  package static let none = HeaderFields(sorted: [])

  private init(sorted fields: [HeaderField]) {
    self.fields = fields
  }

  /// The fields without their values.
  package var withoutValues: HeaderFields { HeaderFields(sorted: fields.map(\.withoutValue)) }

  /// The fields that belong to one host each.
  package var boundToHosts: HeaderFields { HeaderFields(sorted: fields.filter { $0.host != nil }) }

  /// The fields that are sent with a request for a URL: the name of its picture tells of these alone. User
  /// and password in the URL are sent in place of those of its host (curl(1), `--netrc`).
  package func sent(to url: ImageURL) -> HeaderFields {
    guard fields.contains(where: { $0.host != nil }) else { return self }
    return HeaderFields(
      sorted: fields.filter { field in
        field.host.map { $0 == url.host && !url.hasUser } ?? true
      })
  }

  /// The fields with another one, unless there is one of its name.
  func adding(_ field: HeaderField) -> HeaderFields {
    guard !fields.contains(where: { $0.name == field.name }) else { return self }
    let earlier = fields.prefix { $0.name < field.name }
    return HeaderFields(sorted: earlier + [field] + fields.dropFirst(earlier.count))
  }

  /// - Throws: ``InvalidFetchOption`` if the fields exceed a limit.
  package init(_ fields: [HeaderField]) throws(InvalidFetchOption) {
    guard fields.count <= Self.maximumCount else {
      throw InvalidFetchOption("at most \(Self.maximumCount) headers can be set")
    }
    // Each field also has a colon, a space, CR and LF.
    let byteCount = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    guard byteCount <= Self.maximumByteCount else {
      throw InvalidFetchOption("headers can have at most \(Self.maximumByteCount) bytes in total")
    }
    self.fields = fields.enumerated()
      .sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
      .map(\.element)
  }
}

extension HeaderFields: RandomAccessCollection {
  package var startIndex: Int { fields.startIndex }
  package var endIndex: Int { fields.endIndex }
  package subscript(position: Int) -> HeaderField { fields[position] }
}

extension HeaderFields: WrappingValue {
  package var coded: [HeaderField] { fields }

  package init(coded fields: [HeaderField]) throws { try self.init(fields) }
}

/// The reason why a value of ``FetchOptions`` is invalid, for people.
package struct InvalidFetchOption: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}

/// The query parameters that are not part of a picture's name, such as the signature of a presigned
/// URL.
///
/// A pattern is a parameter's name as the URL spells it, with its case and its escapes. Each `*`
/// matches any text. Characters that are not ASCII are escaped as in ``ImageURL/text``.
package struct QueryFilter: Hashable, Sendable {
  /// Sorted and unique, so that equal sets compare equal.
  private let patterns: [String]

  package static let maximumCount = 32
  package static let maximumByteCount = 256

  package static let none = QueryFilter()

  private init() {
    patterns = []
  }

  /// - Throws: ``InvalidFetchOption`` for a pattern that no parameter can match, and if the patterns
  ///   exceed a limit.
  package init(_ patterns: [String]) throws(InvalidFetchOption) {
    guard patterns.count <= Self.maximumCount else {
      throw InvalidFetchOption("at most \(Self.maximumCount) patterns can be set")
    }
    guard patterns.allSatisfy(Self.isValid) else {
      throw InvalidFetchOption(
        "a pattern must be a parameter's name as the URL spells it, of at most "
          + "\(Self.maximumByteCount) bytes; * matches any text")
    }
    self.patterns = Set(patterns).sorted()
  }

  private static func isValid(_ pattern: String) -> Bool {
    (1...maximumByteCount).contains(pattern.utf8.count)
      && pattern.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"&=#".utf8.contains($0) }
  }

  /// Removes the parameters that match from a URL. The others keep their spelling and order. An
  /// empty query is removed with its question mark.
  ///
  /// - Parameter url: a URL without a fragment.
  package func filtered(_ url: String) -> String {
    guard !patterns.isEmpty else { return url }
    let bytes = Array(url.utf8)
    guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return url }
    let patterns = patterns.map { Glob(PercentEncoding.completed(Array($0.utf8)[...])) }
    let parameters = bytes[(mark + 1)...]
      .split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
      .filter { parameter in
        let name = Array(parameter.prefix { $0 != UInt8(ascii: "=") })
        return !patterns.contains { $0.matches(name) }
      }
    let query = Array(parameters.joined(separator: [UInt8(ascii: "&")]))
    let filtered = bytes[..<mark] + (query.isEmpty ? [] : [UInt8(ascii: "?")] + query)
    return String(decoding: filtered, as: UTF8.self)
  }
}

extension QueryFilter: WrappingValue {
  package var coded: [String] { patterns }

  package init(coded patterns: [String]) throws { try self.init(patterns) }
}

/// A byte pattern with wildcards.
package struct Glob: Hashable, Sendable {
  /// `nil` is a wildcard.
  private let tokens: [UInt8?]

  /// - Parameter tokens: bytes, and `nil` for a wildcard that matches any number of bytes.
  package init(_ tokens: [UInt8?]) {
    self.tokens = tokens
  }

  /// A pattern in which each `*` matches any text.
  package init(_ text: String) {
    self.init(text.utf8.map { $0 == UInt8(ascii: "*") ? nil : $0 })
  }

  /// Whether the pattern matches all of `bytes`. Backtracks to the last wildcard only, so the number
  /// of steps is at most the product of both lengths.
  package func matches(_ bytes: [UInt8]) -> Bool {
    var steps = Int.max
    return matches(bytes, within: &steps) ?? false
  }

  /// Matches an untrusted pattern with a bound on the time.
  ///
  /// - Parameter steps: the budget of steps; each step reduces it.
  /// - Returns: `nil` if the budget is exhausted.
  package func matches(_ bytes: [UInt8], within steps: inout Int) -> Bool? {
    var position = 0
    var token = 0
    /// Where to resume after a mismatch: the last wildcard then matches one more byte.
    var backtrack: (position: Int, token: Int)?
    while position < bytes.count {
      guard steps > 0 else { return nil }
      steps -= 1
      if token < tokens.count, tokens[token] == nil {
        token += 1
        backtrack = (position, token)
      } else if token < tokens.count, tokens[token] == bytes[position] {
        position += 1
        token += 1
      } else if let last = backtrack {
        position = last.position + 1
        token = last.token
        backtrack?.position = position
      } else {
        return false
      }
    }
    return tokens[token...].allSatisfy { $0 == nil }
  }
}

/// The Referer (RFC 9110 section 10.1.3) of a request that has none among its ``FetchOptions/headers``.
package enum Referer: String, Hashable, Sendable, FieldValue {
  case none
  /// The origin of the URL that is requested, with a slash after it: what a page of the same site sends.
  case ownOrigin = "auto"

  /// The field for a URL; `nil` for none.
  func field(for url: ImageURL) -> HeaderField? {
    guard self == .ownOrigin, !url.isLocal else { return nil }
    return try? HeaderField(name: "referer", value: "\(url.origin)/")
  }
}
