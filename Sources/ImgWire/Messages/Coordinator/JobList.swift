package import ImgModel

/// Some jobs.
package struct JobList: Hashable, Sendable, Codable {
  package let jobs: [JobID]

  package init(jobs: [JobID]) {
    self.jobs = jobs
  }
}
