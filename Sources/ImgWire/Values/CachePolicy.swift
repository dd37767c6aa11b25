/// What of the store may answer a request, and when the origin is asked.
package enum CachePolicy: String, Hashable, Sendable, Codable, CaseIterable {
  /// What the store has and has not expired there, else the origin.
  case cacheElseLoad = "cache-else-load"

  /// Whether a picture that was found missing a short while ago is not asked for again.
  package var heedsRememberedFailures: Bool {
    switch self {
    case .cacheElseLoad: true
    }
  }
}
