/// The pause that a host has asked for (RFC 9110 section 10.2.3).
struct RetryAfter: Equatable {
  /// When the host permits the next request.
  let until: ContinuousClock.Instant
  /// The status of the response that asked for it.
  let httpStatus: Int
}
