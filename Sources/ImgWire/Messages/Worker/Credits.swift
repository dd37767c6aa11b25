/// How much a worker takes at once. What is assigned beyond it is a fault of the coordinator.
package struct Credits: Hashable, Sendable, Codable {
  /// URLs in look-ups that are not answered.
  package let lookups: Int
  /// Leases of fetches and rides without a result, at the very most.
  package let leases: Int
  /// Pictures that should wait for the decoder beside the transfers under way, so that it never
  /// waits for the network.
  package let backlog: Int

  package init(lookups: Int, leases: Int, backlog: Int) {
    self.lookups = lookups
    self.leases = leases
    self.backlog = backlog
  }
}
