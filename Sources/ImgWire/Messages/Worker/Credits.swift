/// How much work a worker accepts at once. A coordinator that assigns more has a bug.
package struct Credits: Hashable, Sendable, Codable {
  /// The maximum number of URLs in unanswered look-ups.
  package let lookups: Int
  /// The maximum number of leases of `fetch`, `attach`, `decode` and `decode_upload` without a result.
  package let leases: Int
  /// The number of pictures that should wait for the decoder, in addition to the transfers in
  /// progress, so that the decoder never waits for the network.
  package let decodeQueueTarget: Int

  package init(lookups: Int, leases: Int, decodeQueueTarget: Int) {
    self.lookups = lookups
    self.leases = leases
    self.decodeQueueTarget = decodeQueueTarget
  }

  private enum CodingKeys: String, CodingKey {
    case lookups, leases
    case decodeQueueTarget = "decode_queue_target"
  }
}
