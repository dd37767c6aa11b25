/// What of the store may answer a request, and when the origin is asked.
package enum CachePolicy: String, Hashable, Sendable, Codable, CaseIterable {
  /// What the store has while it is fresh by HTTP (RFC 9111), else the origin, which is asked
  /// whether what the store has still holds. What the origin does not want stored is not stored.
  case byProtocol = "protocol"
  /// The origin, whatever the store has.
  case reload
  /// What the store has and has not expired there, else the origin.
  case cacheElseLoad = "cache-else-load"
  /// What the store has and has not expired there; the origin is not asked.
  case cacheOnly = "cache-only"

  /// Whether a picture that was found missing a short while ago is not asked for again.
  package var heedsRememberedFailures: Bool {
    switch self {
    case .cacheElseLoad, .cacheOnly: true
    case .byProtocol, .reload: false
    }
  }

  /// Whether a record of the store may answer as it is.
  ///
  /// - Parameters:
  ///   - terms: the record's.
  ///   - now: when the record has not expired.
  package func accepts(_ terms: ReuseTerms, at now: WallTime) -> Bool {
    switch self {
    case .byProtocol: terms.isFresh(at: now)
    case .reload: false
    case .cacheElseLoad, .cacheOnly: true
    }
  }
}
