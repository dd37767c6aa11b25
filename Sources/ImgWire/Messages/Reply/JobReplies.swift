package import ImgModel

/// A page of jobs, newest first.
package struct JobsPage: Hashable, Sendable, Codable {
  package let id: RequestID
  package let jobs: [JobStatus]
  /// Whether there are older jobs.
  package let hasMore: Bool

  package static let maximumCount = 500

  package init(id: RequestID, jobs: [JobStatus], hasMore: Bool) {
    self.id = id
    self.jobs = jobs
    self.hasMore = hasMore
  }

  private enum CodingKeys: String, CodingKey {
    case id, jobs
    case hasMore = "more"
  }
}

/// The state of one job.
package struct JobReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let status: JobStatus

  package init(id: RequestID, status: JobStatus) {
    self.id = id
    self.status = status
  }
}
