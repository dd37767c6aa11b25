/// The duration of each phase for one picture. A phase is `nil` if it did not happen, as on a reused
/// connection, or was not reached. After several attempts, the last one counts. Redirects are added
/// up.
package struct Timings: Hashable, Sendable, Codable {
  /// The DNS look-up.
  @OptionalMilliseconds package var dns: Duration?
  /// The TCP handshake.
  @OptionalMilliseconds package var connect: Duration?
  @OptionalMilliseconds package var tls: Duration?
  /// From the request to the first byte of the response.
  @OptionalMilliseconds package var ttfb: Duration?
  /// From the first byte of the response to the last.
  @OptionalMilliseconds package var download: Duration?
  @OptionalMilliseconds package var decode: Duration?
  /// From the write request to the commit, which may be a group commit.
  @OptionalMilliseconds package var store: Duration?

  package init() {}
}
