/// The pause that a host has asked for (RFC 9110 section 10.2.3).
package struct RetryAfter: Equatable {
  /// When the host permits the next request.
  package let until: ContinuousClock.Instant
  /// The status of the response that asked for it.
  let httpStatus: Int

  /// Whether the status says something of the host (429, RFC 6585 section 4; 503, RFC 9110 section
  /// 15.6.4), and not only of the picture that was requested.
  var isOfHost: Bool { httpStatus == 429 || httpStatus == 503 }
}
