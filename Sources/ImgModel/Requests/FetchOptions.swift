/// How the pictures of one job or one `get` are found in the store and fetched from origins.
package struct FetchOptions: Hashable, Sendable, Codable {
  package var cachePolicy: CachePolicy
  /// Header fields that are added to each request to the origin. They are not sent to another origin
  /// after a redirect.
  package var headers: HeaderFields
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
    ignoredQuery: QueryFilter = .none, cacheKey: CacheKey? = nil, respectsOptOut: Bool = false,
    respectsRobots: Bool = false, redirectOrigins: OriginList = .all
  ) {
    self.cachePolicy = cachePolicy
    self.headers = headers
    self.ignoredQuery = ignoredQuery
    self.cacheKey = cacheKey
    self.respectsOptOut = respectsOptOut
    self.respectsRobots = respectsRobots
    self.redirectOrigins = redirectOrigins
  }

  /// The name under which the picture of a URL is stored.
  package func name(of url: ImageURL) -> PictureName {
    PictureName(text: nameText(of: url), headers: Array(headers))
  }

  /// The query filter does not apply to `data:` and `file:` URLs.
  private func nameText(of url: ImageURL) -> String {
    if let cacheKey { return cacheKey.text }
    return url.isLocal ? url.text : ignoredQuery.filtered(url.text)
  }

  private enum CodingKeys: String, CodingKey {
    case cachePolicy = "cache_policy"
    case headers
    case ignoredQuery = "ignore_query"
    case cacheKey = "cache_key"
    case respectsOptOut = "respect_opt_out"
    case respectsRobots = "respect_robots"
    case redirectOrigins = "redirect_origins"
  }
}
