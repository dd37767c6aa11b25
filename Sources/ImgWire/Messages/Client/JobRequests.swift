package import ImgModel

/// A page of the list of jobs.
package struct JobsRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  /// Only jobs older than this one; `nil` for the newest.
  package let before: JobID?
  /// Whether jobs that have ended are left out.
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

/// A request about one job.
package struct JobRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let job: JobID
  /// Whether replies follow each change until the job ends.
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

/// A change of one job.
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
