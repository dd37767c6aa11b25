/// Decides when the store answers a request and when the origin does.
package enum CachePolicy: String, Hashable, Sendable, Codable, CaseIterable {
  /// Follows HTTP (RFC 9111): a fresh record is a hit, and a stale record is revalidated. A response
  /// with `no-store` is not stored.
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
