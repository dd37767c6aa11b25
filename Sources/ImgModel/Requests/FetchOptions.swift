/// How the pictures of one job or one `get` are found in the store and fetched from origins.
package struct FetchOptions: Hashable, Sendable, Codable {
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

  /// The defaults.
  package static let standard = FetchOptions()

  package init(
    cachePolicy: CachePolicy = .cacheElseLoad, headers: HeaderFields = .none,
    referer: Referer = .none, cookies: Cookies = .none, ignoredQuery: QueryFilter = .none,
    cacheKey: CacheKey? = nil,
    respectsOptOut: Bool = false,
    respectsRobots: Bool = false, redirectOrigins: OriginList = .all
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
  }

  /// The name under which the picture of a URL is stored.
  package func name(of url: ImageURL) -> PictureName {
    let sent = cookies.matching(url)
    let fields = headers(for: url)
    return PictureName(
      text: nameText(of: url), headers: fields + (sent.isEmpty ? [] : [HeaderField(cookies: sent)]))
  }

  /// The options of a request for the URL, without the header fields and cookies that are for others.
  package func narrowed(to url: ImageURL) -> FetchOptions {
    var options = self
    options.headers = headers.sent(to: url)
    options.cookies = cookies.matching(url)
    return options
  }

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

  private enum CodingKeys: String, CodingKey {
    case cachePolicy = "cache_policy"
    case headers, referer, cookies
    case ignoredQuery = "ignore_query"
    case cacheKey = "cache_key"
    case respectsOptOut = "respect_opt_out"
    case respectsRobots = "respect_robots"
    case redirectOrigins = "redirect_origins"
  }
}

/// The parts of ``FetchOptions`` that may be secret.
package struct RequestSecrets: Hashable, Sendable, Codable {
  package var headers: HeaderFields
  package var cookies: Cookies

  package static let none = RequestSecrets(headers: .none, cookies: .none)

  package init(headers: HeaderFields, cookies: Cookies) {
    self.headers = headers
    self.cookies = cookies
  }

  package var isEmpty: Bool { headers.isEmpty && cookies.isEmpty }
}
