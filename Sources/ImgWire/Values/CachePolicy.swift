/// What of the store may answer a request, and when the origin is asked.
package enum CachePolicy: String, Hashable, Sendable, Codable, CaseIterable {
  /// What the store has and has not expired there, else the origin.
  case cacheElseLoad = "cache-else-load"
}
