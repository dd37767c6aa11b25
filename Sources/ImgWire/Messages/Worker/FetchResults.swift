package import ImgModel

/// The results of leases.
package struct FetchResults: Hashable, Sendable, Codable {
  package struct Result: Hashable, Sendable, Codable {
    package let lease: LeaseID
    package let outcome: Outcome
    /// Whether a redirect led to the response, or to the failure.
    package let wasRedirected: Bool
    /// `nil` for a cache hit, and if no phase was measured.
    package let timings: Timings?
    /// The failure of the transfer if a stale record was served instead (RFC 5861 section 4); `nil`
    /// otherwise.
    package let failureBehind: Failure?

    package init(
      lease: LeaseID, outcome: Outcome, wasRedirected: Bool = false, timings: Timings? = nil,
      failureBehind: Failure? = nil
    ) {
      self.lease = lease
      self.outcome = outcome
      self.failureBehind = failureBehind
      self.wasRedirected = wasRedirected
      self.timings = timings
    }

    private enum CodingKeys: String, CodingKey {
      case lease, outcome
      case wasRedirected = "redirected"
      case timings
      case failureBehind = "failure_behind"
    }
  }

  package let results: [Result]
  /// The number of pictures that wait for the worker's decoder.
  package let decodeQueueCount: Int

  package init(results: [Result], decodeQueueCount: Int = 0) {
    self.results = results
    self.decodeQueueCount = decodeQueueCount
  }

  private enum CodingKeys: String, CodingKey {
    case results
    case decodeQueueCount = "decode_queue"
  }
}
