/// What each part of getting one picture took, in whole milliseconds; `nil` where there was no such
/// part, as on a connection that stood already, or where it was not reached. Of several attempts the
/// last one counts, of several redirects all together.
package struct Timings: Hashable, Sendable, Codable {
  /// The look-up of the name.
  package var dns: Int64?
  /// Until TCP stood.
  package var connect: Int64?
  package var tls: Int64?
  /// From the request to the first byte of the answer.
  package var ttfb: Int64?
  /// From the first byte of the answer to the last.
  package var download: Int64?
  package var decode: Int64?
  /// From the hand-over to the store to its commit, which others may share.
  package var store: Int64?

  package init() {}
}
