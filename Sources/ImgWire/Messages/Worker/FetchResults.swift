package import ImgModel

/// The ends of leases.
package struct FetchResults: Hashable, Sendable, Codable {
  package struct Result: Hashable, Sendable, Codable {
    package let lease: LeaseID
    package let outcome: Outcome
    /// Whether it came from where the host that was asked first has sent the worker.
    package let wasRedirected: Bool
    /// `nil` of what is from the cache or had no parts.
    package let timings: Timings?
    /// What the transfer has failed with, where the outcome is from the store all the same; `nil` in
    /// all other cases.
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
  /// Pictures that wait for the worker's decoder.
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
