/// An origin's cooldown after it sent Retry-After (RFC 9110 section 10.2.3): workers send no requests
/// to it. Other ports and schemes of its host have asked for nothing.
package struct HostCooldown: Hashable, Sendable {
  /// See ``ImageURL/host``.
  package let host: String
  /// See ``ImageURL/origin``.
  package let origin: String
  /// At most ``maximumSeconds``.
  @Milliseconds package private(set) var duration: Duration
  /// The status of the response with Retry-After.
  package let httpStatus: Int

  /// The maximum cooldown. An origin that asks for more gets the next request too early and can refuse
  /// it.
  package static let maximumSeconds: Int64 = 300
  /// The maximum for requests of clients that wait. They are refused at once meanwhile.
  package static let maximumForViewers = Duration.seconds(60)

  /// - Parameter seconds: the value of Retry-After; clamped to 0…``maximumSeconds``.
  package init(host: String, origin: String, seconds: Int64, httpStatus: Int) {
    self.host = host
    self.origin = origin
    self.httpStatus = httpStatus
    duration = .seconds(min(max(seconds, 0), Self.maximumSeconds))
  }
}

extension HostCooldown: Codable {
  private enum CodingKeys: String, CodingKey {
    case host, origin
    case duration = "ms"
    case httpStatus = "http_status"
  }
}
