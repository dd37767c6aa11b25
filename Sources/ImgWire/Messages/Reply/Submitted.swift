package import ImgModel

/// An accepted job.
package struct Submitted: Hashable, Sendable, Codable {
  package let id: RequestID
  package let job: JobID
  package let total: Int

  package init(id: RequestID, job: JobID, total: Int) {
    self.id = id
    self.job = job
    self.total = total
  }
}
