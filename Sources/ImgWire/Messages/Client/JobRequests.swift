package import ImgModel

/// A request for a page of jobs.
package struct JobsRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  /// The page starts after this job, with the next older one; `nil` for the first page.
  package let before: JobID?
  /// Whether the page omits ended jobs.
  package let isActiveOnly: Bool

  package init(id: RequestID, before: JobID? = nil, isActiveOnly: Bool = false) {
    self.id = id
    self.before = before
    self.isActiveOnly = isActiveOnly
  }

  private enum CodingKeys: String, CodingKey {
    case id, before
    case isActiveOnly = "active_only"
  }
}

/// A request for the state of one job.
package struct JobRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let job: JobID
  /// Whether a reply follows each change until the job ends.
  package let isWatching: Bool

  package init(id: RequestID, job: JobID, isWatching: Bool = false) {
    self.id = id
    self.job = job
    self.isWatching = isWatching
  }

  private enum CodingKeys: String, CodingKey {
    case id, job
    case isWatching = "watch"
  }
}

/// A request to change one job.
package struct ChangeRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let job: JobID
  package let change: JobChange

  package init(id: RequestID, job: JobID, change: JobChange) {
    self.id = id
    self.job = job
    self.change = change
  }
}
