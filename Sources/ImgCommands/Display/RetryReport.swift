package import ImgWire

/// What is said of a job that was taken up again: what of it was reopened.
package struct RetryReport: Sendable {
  private let before: JobStatus
  private let after: JobStatus

  /// - Parameters:
  ///   - before: the job as it had ended.
  ///   - after: the job when the retry was durable.
  package init(from before: JobStatus, to after: JobStatus) {
    self.before = before
    self.after = after
  }

  /// One line, ended.
  package var text: String {
    var facts: [String] = []
    if before.failed > 0 {
      facts.append("\(before.failed - after.failed) of \(before.failed) failures")
    }
    if before.cancelled > 0 { facts.append("\(before.cancelled) cancelled URLs") }
    return "job \(after.job): \(facts.joined(separator: " and ")) are tried again\n"
  }
}
