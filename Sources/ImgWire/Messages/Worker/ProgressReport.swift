package import ImgModel

/// How much of the bodies of leases has arrived.
package struct ProgressReport: Hashable, Sendable, Codable {
  package struct Entry: Hashable, Sendable {
    /// The lease that the body is fetched for. It goes on.
    package let lease: LeaseID
    package let progress: BodyProgress

    package init(lease: LeaseID, progress: BodyProgress) {
      self.lease = lease
      self.progress = progress
    }
  }

  package let entries: [Entry]

  package init(entries: [Entry]) {
    self.entries = entries
  }
}

// The members of the progress are beside the lease.
extension ProgressReport.Entry: Codable {
  private enum CodingKeys: String, CodingKey {
    case lease
  }

  package init(from decoder: any Decoder) throws {
    lease = try decoder.container(keyedBy: CodingKeys.self).decode(LeaseID.self, forKey: .lease)
    progress = try BodyProgress(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(lease, forKey: .lease)
    try progress.encode(to: encoder)
  }
}
