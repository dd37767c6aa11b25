/// How the pictures of a job or of one `get` may be had, and how origins are asked for them.
package struct FetchOptions: Hashable, Sendable, Codable {
  package var cachePolicy: CachePolicy
  /// Sent to the origin with each request, beside what every request says.
  package var headers: [HeaderField]

  /// Those of a request that says nothing.
  package static let standard = FetchOptions()

  package init(cachePolicy: CachePolicy = .cacheElseLoad, headers: [HeaderField] = []) {
    self.cachePolicy = cachePolicy
    self.headers = headers
  }

  package func name(of url: ImageURL) -> PictureName {
    PictureName(text: url.text, headers: headers)
  }

  private enum CodingKeys: String, CodingKey {
    case cachePolicy = "cache_policy"
    case headers
  }
}

/// One field of a request's header section (RFC 9110 section 5).
package struct HeaderField: Hashable, Sendable, Codable {
  package let name: String
  package let value: String

  package init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}
