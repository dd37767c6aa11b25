package import ImgModel

/// A list of leases.
package struct LeaseList: Hashable, Sendable, Codable {
  package let leases: [LeaseID]

  package init(leases: [LeaseID]) {
    self.leases = leases
  }
}
