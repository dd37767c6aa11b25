/// How the pictures of a job or of one `get` may be had, and how origins are asked for them.
package struct FetchOptions: Hashable, Sendable, Codable {
  package var cachePolicy: CachePolicy
  /// Sent to the origin with each request, beside what every request says; not sent to another
  /// origin after a redirect.
  package var headers: HeaderFields
  /// The parameters of URLs that do not count for their pictures' names.
  package var ignoredQuery: QueryFilter
  /// The picture's name in place of its URL; `nil` for the URL.
  package var cacheKey: CacheKey?
  /// Whether a picture stays unused whose origin asks for that in an `X-Robots-Tag`.
  package var respectsOptOut: Bool
  /// Whether a picture is not fetched that its origin's robots.txt closes (RFC 9309).
  package var respectsRobots: Bool

  /// Those of a request that says nothing.
  package static let standard = FetchOptions()

  package init(
    cachePolicy: CachePolicy = .cacheElseLoad, headers: HeaderFields = .none,
    ignoredQuery: QueryFilter = .none, cacheKey: CacheKey? = nil, respectsOptOut: Bool = false,
    respectsRobots: Bool = false
  ) {
    self.cachePolicy = cachePolicy
    self.headers = headers
    self.ignoredQuery = ignoredQuery
    self.cacheKey = cacheKey
    self.respectsOptOut = respectsOptOut
    self.respectsRobots = respectsRobots
  }

  package func name(of url: ImageURL) -> PictureName {
    PictureName(text: nameText(of: url), headers: Array(headers))
  }

  /// A picture that is in its URL has all of that as its name.
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
  }
}
