/// A host's cooldown after it sent Retry-After (RFC 9110 section 10.2.3): workers send no requests
/// to it.
package struct HostCooldown: Hashable, Sendable {
  /// See ``ImageURL/host``.
  package let host: String
  /// At most ``maximumSeconds``.
  @Milliseconds package private(set) var duration: Duration
  /// The status of the response with Retry-After.
  package let httpStatus: Int

  /// The maximum cooldown. A host that asks for more gets the next request too early and can refuse
  /// it.
  package static let maximumSeconds: Int64 = 300

  /// - Parameter seconds: the value of Retry-After; clamped to 0…``maximumSeconds``.
  package init(host: String, seconds: Int64, httpStatus: Int) {
    self.host = host
    self.httpStatus = httpStatus
    duration = .seconds(min(max(seconds, 0), Self.maximumSeconds))
  }
}

extension HostCooldown: Codable {
  private enum CodingKeys: String, CodingKey {
    case host
    case duration = "ms"
    case httpStatus = "http_status"
  }
}
