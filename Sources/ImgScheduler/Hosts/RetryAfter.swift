import ImgModel

/// The pause that an origin has asked for (RFC 9110 section 10.2.3).
package struct RetryAfter: Equatable {
  /// When the origin permits the next request.
  package let until: ContinuousClock.Instant
  /// When a viewer's request goes out before the pause is over: a person should not be kept from a picture for minutes
  /// because another one asked for it.
  package let untilForViewers: ContinuousClock.Instant
  /// The status of the response that asked for it.
  let httpStatus: Int

  init(_ cooldown: HostCooldown, at now: ContinuousClock.Instant) {
    until = now + cooldown.duration
    untilForViewers = now + min(cooldown.duration, HostCooldown.maximumForViewers)
    httpStatus = cooldown.httpStatus
  }

  package func until(for urgency: Urgency) -> ContinuousClock.Instant {
    urgency.viewer > 0 ? untilForViewers : until
  }

  /// Whether the status says something of the host (429, RFC 6585 section 4; 503, RFC 9110 section
  /// 15.6.4), and not only of the picture that was requested.
  var isOfHost: Bool { httpStatus == 429 || httpStatus == 503 }
}
