import ImgModel

/// A host that has failed again and again, so that its circuit breaker is open, see ``HostHealth``.
package struct Outage: Equatable {
  /// When the host is asked again.
  package let until: ContinuousClock.Instant
  /// The last failure of the host.
  let failure: Failure
}
