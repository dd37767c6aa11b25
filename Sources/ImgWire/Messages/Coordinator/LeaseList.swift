package import ImgModel

/// Leases by their number.
package struct LeaseList: Hashable, Sendable, Codable {
  package let leases: [LeaseID]

  package init(leases: [LeaseID]) {
    self.leases = leases
  }
}
