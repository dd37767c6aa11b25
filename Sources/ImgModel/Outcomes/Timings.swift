/// The duration of each phase for one picture, in whole milliseconds. A phase is `nil` if it did not
/// happen, as on a reused connection, or was not reached. After several attempts, the last one
/// counts. Redirects are added up.
package struct Timings: Hashable, Sendable, Codable {
  /// The DNS look-up.
  package var dns: Int64?
  /// The TCP handshake.
  package var connect: Int64?
  package var tls: Int64?
  /// From the request to the first byte of the response.
  package var ttfb: Int64?
  /// From the first byte of the response to the last.
  package var download: Int64?
  package var decode: Int64?
  /// From the write request to the commit, which may be a group commit.
  package var store: Int64?

  package init() {}
}
